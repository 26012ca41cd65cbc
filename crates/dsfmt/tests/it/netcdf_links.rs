//! HDF5 files whose links, headers and attributes refer to the same bytes repeatedly, read in bounded time and memory.
use std::time::{Duration, Instant};

use container_core::{OpenOptions, Source};
use dsfmt::netcdf::{ReadOptions, Reader, to_ds};

use crate::common::hdf5_file::{
    self, Message, Part, UNDEFINED, attribute, file, global_heap, hard_link, list_type, message, reference, soft_link,
};

fn open(bytes: Vec<u8>) -> Result<Reader, String> {
    let start = Instant::now();
    let reader = Reader::from_source(Source::from(bytes), OpenOptions::default()).map_err(|error| error.to_string());
    // Without limits each of these takes minutes, or all memory.
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    reader
}

fn losses(reader: &Reader) -> Vec<String> {
    reader.losses().iter().map(|loss| loss.what.to_string()).collect()
}

#[test]
fn self_linked_group_is_one_group() {
    let reader = open(hdf5_file::linked_to_itself()).unwrap();
    assert_eq!(losses(&reader), ["group \"self\" left out: it is group \"/\" by another name"]);
    let folder = tempfile::tempdir().unwrap();
    to_ds(&reader, folder.path().join("a.ds"), &ReadOptions::default(), dsfmt::OutputOptions::default()).unwrap();
}

#[test]
fn visits_each_group_once() {
    let reader = open(hdf5_file::nested(&["a", "b"], 24)).unwrap();
    assert_eq!(
        losses(&reader),
        [
            "group \"a\" with 0 variables left out: its groups have several names, or are too many",
            "group \"b\" left out: it is group \"a\" by another name"
        ]
    );
}

#[test]
fn limits_nested_groups() {
    assert_eq!(losses(&open(hdf5_file::nested(&["a"], 64)).unwrap()), Vec::<String>::new());
    let error = open(hdf5_file::nested(&["a"], 65)).unwrap_err();
    let expected =
        format!("netcdf: nesting depth of groups 65 exceeds the limit 64 (byte 3428, column \"{}\")", "/a".repeat(65));
    assert_eq!(error, expected);
}

/// Each link leads through all later ones, many times.
#[test]
fn limits_soft_links() {
    let links = |count: usize, parts: usize| {
        file(1, |_, addresses| {
            let path = |index: usize| vec![format!("s{}", index + 1); parts].join("/");
            let mut links: Vec<Message> =
                (0..count).map(|index| soft_link(&format!("s{index}"), &path(index))).collect();
            links.push(hard_link(&format!("s{count}"), addresses[0]));
            Part::Object(links)
        })
    };
    assert_eq!(losses(&open(links(3, 3)).unwrap()).len(), 4);
    let error = open(links(600, 100)).unwrap_err();
    assert!(error.starts_with("netcdf: steps of soft links "), "{error}");
}

/// Messages that refer to their own header, which is read again for each.
#[test]
fn limits_shared_messages() {
    let shared = |count: usize| {
        file(1, |_, addresses| {
            let body = [&[3, 2][..], &addresses[0].to_le_bytes()].concat();
            let mut messages: Vec<Message> = Vec::new();
            messages.resize_with(count, || Message { kind: 3, shared: true, body: body.clone() });
            messages.push(hard_link("a", addresses[0]));
            Part::Object(messages)
        })
    };
    let error = open(shared(1)).unwrap_err();
    assert!(error.contains("shares links or attributes of another"), "{error}");
    let many = |count: usize| {
        file(2, |index, addresses| {
            let body = [&[3, 2][..], &addresses[1].to_le_bytes()].concat();
            let mut messages: Vec<Message> = Vec::new();
            if index == 0 {
                messages.resize_with(count, || Message { kind: 3, shared: true, body: body.clone() });
            } else {
                messages.push(message(3, [vec![0x10, 8, 0, 0, 4, 0, 0, 0, 0, 0, 32, 0], vec![0; 60_000]].concat()));
            }
            Part::Object(messages)
        })
    };
    open(many(10)).unwrap();
    let error = open(many(20_000)).unwrap_err();
    assert!(error.starts_with("netcdf: bytes of object headers "), "{error}");
    assert!(error.ends_with(" (byte 48, column \"/\")"), "{error}");
}

#[test]
fn limits_empty_messages() {
    let zeros = |last: u8| {
        file(1, |_, _| {
            let mut bytes = [&b"OHDR\x02\x02"[..], &1_000_001_u32.to_le_bytes(), &[0; 1_000_000]].concat();
            bytes.push(last);
            bytes.extend(hdf5_file::hdf5_mutate::lookup3(&bytes).to_le_bytes());
            Part::Raw(bytes)
        })
    };
    open(zeros(0)).unwrap();
    let error = open(zeros(1)).unwrap_err();
    assert!(error.starts_with("netcdf: empty messages of an object header 1025 exceeds the limit 1024"), "{error}");
}

/// A string of 100 kB referenced by 3,000 elements of each of 60 attributes: 18 GB from 3 MB.
#[test]
fn limits_attribute_strings() {
    let texts = |attributes: usize, elements: u32| {
        file(2, |index, addresses| {
            if index == 1 {
                return Part::Raw(global_heap(&[b'x'; 100_000]));
            }
            let data = reference(100_000, addresses[1]).repeat(elements as usize);
            let one = |index| attribute(&format!("a{index}"), &list_type(true, 1), elements.into(), &data);
            Part::Object((0..attributes).map(one).chain([hdf5_file::no_links()]).collect())
        })
    };
    let reader = open(texts(2, 3)).unwrap();
    assert_eq!(reader.attributes().len(), 2);
    let error = open(texts(60, 3000)).unwrap_err();
    assert!(error.starts_with("netcdf: bytes of attributes "), "{error}");
}

/// Nested lists that contain themselves.
#[test]
fn drops_nested_lists() {
    let reader = open(file(3, |index, addresses| {
        if index > 0 {
            return Part::Raw(global_heap(&reference(100, addresses[1]).repeat(100)));
        }
        let lists = attribute("lists", &list_type(false, 9), 1, &reference(100, addresses[1]));
        let plain = attribute("plain", &[0x10, 8, 0, 0, 4, 0, 0, 0, 0, 0, 32, 0], 1, &7u32.to_le_bytes());
        Part::Object(vec![lists, plain, hdf5_file::no_links()])
    }));
    let reader = reader.unwrap();
    assert_eq!(losses(&reader), ["attribute \"lists\" left out: unsupported type"]);
    assert_eq!(reader.attributes().len(), 1);
    assert_eq!(reader.attributes()[0].name, "plain");
}

/// A filter that declares 4 billion members, and one of unbounded length.
#[test]
fn checks_filters_before_running_them() {
    let dataset = |filters: Vec<u8>| {
        let bytes = file(4, |index, addresses| match index {
            0 => Part::Object(vec![hard_link("x", addresses[1])]),
            1 => Part::Object(vec![
                message(1, [&[2, 1, 0, 1][..], &4u64.to_le_bytes()].concat()),
                message(3, vec![0x10, 8, 0, 0, 4, 0, 0, 0, 0, 0, 32, 0]),
                message(8, [&[3, 2, 2][..], &addresses[2].to_le_bytes(), &[4, 0, 0, 0, 4, 0, 0, 0]].concat()),
                message(0x0b, filters.clone()),
            ]),
            2 => {
                let key = |offset: u64| [&[16, 0, 0, 0, 0, 0, 0, 0][..], &offset.to_le_bytes(), &[0; 8]].concat();
                let siblings = [UNDEFINED, UNDEFINED].map(u64::to_le_bytes).concat();
                let first = [key(0), addresses[3].to_le_bytes().to_vec(), key(4)].concat();
                Part::Raw([&b"TREE\x01\0\x01\0"[..], &siblings, &first].concat())
            }
            _ => Part::Raw(vec![7; 16]),
        });
        let reader = open(bytes).unwrap();
        let array = reader.read(reader.variable("x").unwrap(), 0..4, &ReadOptions::default());
        array.map(|array| array.len()).map_err(|error| error.to_string())
    };
    let filter = |id: u16, data: &[u32]| {
        let words: Vec<u8> = data.iter().flat_map(|word| word.to_le_bytes()).collect();
        [&id.to_le_bytes()[..], &[0, 0], &u16::try_from(data.len()).unwrap().to_le_bytes(), &words].concat()
    };
    let all = |filters: &[Vec<u8>]| [vec![2, u8::try_from(filters.len()).unwrap()], filters.concat()].concat();
    assert_eq!(dataset(all(&[])), Ok(4));
    // Unmodified 32-bit numbers.
    assert_eq!(dataset(all(&[filter(5, &[8, 0, 4, 1, 4, 0, 32, 0])])), Ok(4));
    assert_eq!(
        dataset(all(&[filter(5, &[6, 0, 4, 3, 4, u32::MAX])])).unwrap_err(),
        "netcdf: its n-bit filter does not apply to numbers (column \"x\")"
    );
    assert_eq!(
        dataset(all(&[filter(4, &[0, 0, 0, 0]), filter(1, &[6])])).unwrap_err(),
        "netcdf: its filter 1 follows one of unbounded length (column \"x\")"
    );
    assert_eq!(
        dataset(all(&vec![filter(2, &[4]); 33])).unwrap_err(),
        "netcdf: it has 33 filters, more than the limit 32 (column \"x\")"
    );
}

/// 400 attributes of 1.6 kB written by netCDF-C 4.9: their heap has nested indirect blocks.
#[test]
fn reads_attributes_in_a_deep_heap() {
    let packed = include_bytes!("../data/deep-attributes.nc.gz");
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&packed[..]), &mut bytes).unwrap();
    let reader = open(bytes.clone()).unwrap();
    assert_eq!(losses(&reader), [""; 0]);
    let variable = reader.variable("v").unwrap();
    assert_eq!((reader.dimension_names(variable).collect::<Vec<_>>(), variable.attributes.len()), (vec!["x"], 400));
    for (index, attribute) in variable.attributes.iter().enumerate() {
        assert_eq!(attribute.name, format!("a{index:03}"));
        let numbers = attribute.value.as_numbers().unwrap().as_slice::<i32>().unwrap();
        assert_eq!((numbers[0], numbers.len()), (i32::try_from(index).unwrap(), 400));
    }
    // With one damaged heap block, its attributes are reported as losses, and all others are read.
    let at = bytes.windows(4).position(|found| found == b"a200").unwrap();
    bytes[at] = b'b';
    let reader = open(bytes).unwrap();
    let kept = reader.variable("v").unwrap().attributes.len();
    assert!((350..400).contains(&kept), "{kept}");
    assert_eq!(losses(&reader), [format!("{} attributes of variable \"v\" left out: unreadable", 400 - kept)]);
}
