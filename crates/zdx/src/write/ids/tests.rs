use super::*;
use crate::wire::index::header;
use std::collections::BTreeMap;

type Model = BTreeMap<u64, (String, u32)>;

fn table(entries: &[(String, u64, u32)]) -> Table {
    let mut out = header(entries.len() as u64).to_vec();
    for (id, offset, length) in entries {
        put(&Entry { id: id.as_bytes(), offset: *offset, length: *length }, &mut out).unwrap();
    }
    Table::build(out.into(), 1).unwrap()
}

fn all(ids: &Ids) -> Vec<(String, u64, u32)> {
    let mut all = Vec::new();
    ids.for_each(|entry| {
        all.push((String::from_utf8(entry.id.to_vec()).unwrap(), entry.offset, entry.length));
        Ok(())
    })
    .unwrap();
    all
}

fn assert_agrees(ids: &Ids, model: &Model) {
    let expected: Vec<_> = model.iter().map(|(offset, (id, length))| (id.clone(), *offset, *length)).collect();
    assert_eq!(all(ids), expected);
    assert_eq!(ids.len(), model.len() as u64);
    for (offset, (id, length)) in model {
        let found = ids.find(id.as_bytes()).unwrap();
        assert_eq!((found.offset, found.length), (*offset, *length));
    }
    assert_eq!(ids.last().map(|(_, offset, _)| offset), model.keys().last().copied());
}

#[test]
fn agrees_with_a_map() {
    let mut state = 7u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for (base, steps) in [(0u64, 5000), (50, 3000), (3000, 5000)] {
        let mut entries: Vec<_> = (0..base).map(|n| (format!("id{n}"), n * 10, 10)).collect();
        if base == 50 {
            entries.reverse();
        }
        let mut model: Model = entries.iter().map(|(id, offset, length)| (*offset, (id.clone(), *length))).collect();
        let mut ids = Ids::new(table(&entries));
        assert_agrees(&ids, &model);
        let mut end = base * 10;
        let mut before = None;
        for step in 0..steps {
            let id = format!("id{}", random(base + 500));
            let previous =
                model.iter().find(|(_, (other, _))| *other == id).map(|(offset, (_, length))| (*offset, *length));
            previous.map(|(offset, _)| model.remove(&offset));
            if random(3) == 0 {
                assert_eq!(ids.delete(id.as_bytes()).unwrap(), previous, "{id} {step}");
                assert!(ids.find(id.as_bytes()).is_none());
            } else {
                assert_eq!(ids.put(id.as_bytes(), end, 5).unwrap(), previous, "{id} {step}");
                model.insert(end, (id, 5));
                end += 5;
            }
            if step % 500 == 250 {
                assert_agrees(&ids, &model);
                ids.begin();
                before = Some(model.clone());
            }
            if step % 500 == 450 {
                if random(2) == 0 {
                    ids.commit();
                } else {
                    ids.roll_back();
                    model = before.take().unwrap();
                    assert_agrees(&ids, &model);
                }
            }
        }
        assert_agrees(&ids, &model);
    }
}
