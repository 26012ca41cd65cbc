use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int8Type, Int32Type, TimestampMillisecondType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use container_core::ErrorKind;

use super::*;
use crate::{Class, Element, Mapping, Observation, TypeObserver, resolve_schema};

fn columns(fields: Vec<Field>, on_mismatch: OnMismatch) -> Columns {
    let scan = BatchScan::default().with_mapping(Mapping::default().with_on_mismatch(on_mismatch));
    Columns::new(Arc::new(Schema::new(fields)), &scan, &Limits::default()).unwrap()
}

type Put<'p> = &'p dyn Fn(Slot<'_>) -> Result<()>;

/// Builds a column from one function per value, with errors and with nulls for mismatches.
fn column(data_type: DataType, puts: &[Put<'_>]) -> (RecordBatch, Vec<Loss>, Vec<String>) {
    let field = Field::new("x", data_type, true);
    let mut errors = Vec::new();
    let mut strict = columns(vec![field.clone()], OnMismatch::Error);
    for (row, put) in (0..).zip(puts) {
        let mut object = strict.row(row);
        if let Err(error) = put(object.member("x").unwrap()) {
            assert_eq!((error.position().row, error.position().column.as_deref()), (Some(row), Some("x")));
            errors.push(error.detail().to_owned());
        }
    }
    let mut lenient = columns(vec![field], OnMismatch::Null);
    for (row, put) in (0..).zip(puts) {
        let mut object = lenient.row(row);
        put(object.member("x").unwrap()).unwrap();
        object.end();
    }
    (lenient.finish().unwrap(), lenient.take_losses(), errors)
}

#[test]
fn numbers_are_exact_or_rejected() {
    let (batch, losses, errors) = column(
        DataType::Int8,
        &[
            &|x| x.i64(-128),
            &|x| x.i64(128),
            &|x| x.f64(3.0),
            &|x| x.f64(3.5),
            &|x| x.str("3"),
            &|x| x.u64(u64::MAX),
            &|x| x.f64(f64::NAN),
            &|x| x.bool(true),
        ],
    );
    let actual: Vec<_> = batch.column(0).as_primitive::<Int8Type>().iter().collect();
    assert_eq!(actual, [Some(-128), None, Some(3), None, None, None, None, None]);
    assert_eq!((losses.len(), losses[0].count, losses[0].first.row), (1, 6, Some(1)));
    assert_eq!(errors.len(), 6);
    assert!(errors[0].contains("an integer does not fit into a column of Int8"), "{}", errors[0]);

    let (batch, _, errors) = column(
        DataType::Float32,
        &[
            &|x| x.f64(0.1),
            &|x| x.f64(0.1 + f64::EPSILON),
            &|x| x.f32(0.1),
            &|x| x.i64(1 << 24),
            &|x| x.i64((1 << 24) + 1),
            &|x| x.str("-Infinity"),
            &|x| x.f64(1e300),
        ],
    );
    let actual: Vec<_> = batch.column(0).as_primitive::<Float32Type>().iter().collect();
    let expected = [Some(0.1), None, Some(0.1), Some(16_777_216.0), None, Some(f32::NEG_INFINITY), None];
    assert_eq!((actual, errors.len()), (expected.to_vec(), 3));

    let (batch, _, errors) =
        column(DataType::Float64, &[&|x| x.i64(1 << 60), &|x| x.i64((1 << 60) + 1), &|x| x.u64(u64::MAX)]);
    assert_eq!((batch.column(0).null_count(), errors.len()), (2, 2));
}

#[test]
fn text_becomes_times_and_dictionary_keys() {
    let stamp = DataType::Timestamp(TimeUnit::Millisecond, None);
    let (batch, _, errors) =
        column(stamp, &[&|x| x.str("1970-01-01T00:00:01.5"), &|x| x.i64(7), &|x| x.str("yesterday"), &|x| x.f64(0.5)]);
    let actual: Vec<_> = batch.column(0).as_primitive::<TimestampMillisecondType>().iter().collect();
    assert_eq!((actual, errors.len()), (vec![Some(1500), Some(7), None, None], 2));

    let keys = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let (batch, _, errors) = column(keys.clone(), &[&|x| x.str("a"), &|x| x.str("b"), &|x| x.i64(1), &|x| x.str("a")]);
    let array = batch.column(0).as_dictionary::<Int8Type>();
    assert_eq!(array.keys().iter().collect::<Vec<_>>(), [Some(0), Some(1), None, Some(0)]);
    assert_eq!((array.values().len(), errors.len()), (2, 1));
    let mut many = columns(vec![Field::new("k", keys, true)], OnMismatch::Null);
    let put = |many: &mut Columns, key: u32| many.row(key.into()).member("k").unwrap().str(&key.to_string());
    let error = (0..200).find_map(|key| put(&mut many, key).err()).unwrap();
    assert_eq!(error.kind(), ErrorKind::Limit { asked: 129, limit: 128 });
}

#[test]
fn batches_are_bounded() {
    let scan = BatchScan::default().with_batch_rows(10).with_batch_bytes(1000);
    let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Utf8, true)]));
    let mut columns = Columns::new(schema, &scan, &Limits::default()).unwrap();
    let mut fill = |length: usize| {
        while !columns.is_full() {
            let mut row = columns.row(0);
            row.member("x").unwrap().str(&"x".repeat(length)).unwrap();
            row.end();
        }
        let rows = columns.finish().unwrap().num_rows();
        assert!(columns.is_empty() && columns.bytes() == 0);
        rows
    };
    assert_eq!([fill(0), fill(200), fill(5000), fill(0)], [10, 5, 1, 10]);
    let schema = Arc::new(Schema::new(vec![Field::new_list("x", Field::new_list_field(DataType::Int64, true), true)]));
    let mut columns = Columns::new(schema, &scan, &Limits::default().with_block_bytes(100)).unwrap();
    let mut row = columns.row(3);
    let mut list = row.member("x").unwrap().list().unwrap().unwrap();
    let error = (0..20).find_map(|value| list.element().and_then(|slot| slot.i64(value)).err()).unwrap();
    assert!(matches!(error.kind(), ErrorKind::Limit { limit: 100, .. }), "{error}");
    assert_eq!(error.position().row, Some(3));
    // The unfinished row is discarded.
    assert_eq!(columns.finish().unwrap().num_rows(), 0);
    // Elements without a type take no bytes, and are limited all the same.
    let schema = Arc::new(Schema::new(vec![Field::new_list("x", Field::new_list_field(DataType::Null, true), true)]));
    let mut columns = Columns::new(schema, &scan, &Limits::default().with_block_bytes(100)).unwrap();
    let mut row = columns.row(0);
    let mut list = row.member("x").unwrap().list().unwrap().unwrap();
    assert!((0..200).any(|_| list.element().and_then(Slot::zero).is_err()));
}

#[test]
fn rolled_back_row_leaves_nothing() {
    let inner = DataType::Struct(vec![Field::new("y", DataType::Int32, true)].into());
    let list = DataType::List(Arc::new(Field::new_list_field(inner, true)));
    let pair = DataType::FixedSizeList(Arc::new(Field::new_list_field(DataType::Int32, true)), 2);
    let mut columns = columns(vec![Field::new("l", list, true), Field::new("p", pair, true)], OnMismatch::Null);
    let put = |columns: &mut Columns, value: i64, whole: bool| {
        let mut row = columns.row(0);
        let mut list = row.member("l").unwrap().list().unwrap().unwrap();
        for y in 0..2 {
            let mut object = list.element().unwrap().object().unwrap().unwrap();
            object.member("y").unwrap().i64(value + y).unwrap();
            object.end();
        }
        if whole {
            list.end().unwrap();
        }
        let mut list = row.member("p").unwrap().list().unwrap().unwrap();
        for _ in 0..value {
            list.element().unwrap().i64(value).unwrap();
        }
        if whole {
            list.end().unwrap();
            row.end();
        }
    };
    put(&mut columns, 2, true);
    put(&mut columns, 3, false);
    columns.roll_back();
    put(&mut columns, 3, true);
    let batch = columns.finish().unwrap();
    let list = batch.column(0).as_list::<i32>();
    let values = list.values().as_struct().column(0).as_primitive::<Int32Type>();
    assert_eq!((list.value_offsets(), values.values().as_ref()), (&[0, 2, 4][..], &[2, 3, 3, 4][..]));
    // Three elements do not fit a list of two.
    let pairs = batch.column(1).as_fixed_size_list();
    assert_eq!((pairs.is_null(0), pairs.is_null(1)), (false, true));
    assert_eq!(columns.take_losses().len(), 1);
}

#[test]
fn tensors_of_one_shape_and_of_several() {
    let tensor =
        |shape: &'static [u64], data: &'static [u8]| Tensor { element: Element::I16, shape, data, big_endian: true };
    let all = |tensors: &[Tensor<'_>]| {
        let mut observation = Observation::new(Limits::default());
        for (row, tensor) in (0..).zip(tensors) {
            observation.row(row).object().member("t").unwrap().tensor(tensor.element, tensor.shape);
        }
        let schema = resolve_schema(&observation, &Mapping::default()).unwrap();
        let mut columns = Columns::new(Arc::new(schema), &BatchScan::default(), &Limits::default()).unwrap();
        for (row, tensor) in (0..).zip(tensors) {
            let mut object = columns.row(row);
            object.member("t").unwrap().tensor(tensor).unwrap();
            object.end();
        }
        columns.row(9).end();
        columns.finish().unwrap()
    };
    let one = all(&[tensor(&[2, 1], &[0, 1, 0, 2]), tensor(&[2, 1], &[1, 0, 0xff, 0xff])]);
    assert_eq!(one.schema().field(0).extension_type_name(), Some("arrow.fixed_shape_tensor"));
    assert_eq!(one.schema().field(0).extension_type_metadata(), Some("{\"shape\":[2,1]}"));
    let lists = one.column(0).as_fixed_size_list();
    let values = lists.values().as_primitive::<arrow_array::types::Int16Type>();
    assert_eq!((&values.values()[..4], lists.is_null(2)), (&[1, 2, 256, -1][..], true));

    let lists = all(&[tensor(&[2], &[0, 1, 0, 2]), tensor(&[0], &[]), tensor(&[1], &[1, 0])]);
    assert_eq!(*lists.schema().field(0).data_type(), DataType::new_list(DataType::Int16, true));
    assert_eq!(lists.column(0).as_list::<i32>().value_offsets(), [0, 2, 2, 3, 3]);

    let two = all(&[tensor(&[2, 1], &[0, 1, 0, 2]), tensor(&[1, 1], &[1, 0])]);
    assert_eq!(two.schema().field(0).extension_type_name(), Some("arrow.variable_shape_tensor"));
    let parts = two.column(0).as_struct();
    assert_eq!(parts.column_by_name("data").unwrap().as_list::<i32>().value_offsets(), [0, 2, 3, 3]);
    assert_eq!(parts.column_by_name("shape").unwrap().as_fixed_size_list().value(1).len(), 2);

    let three = all(&[tensor(&[], &[0, 1]), tensor(&[1, 1], &[1, 0]), tensor(&[0], &[])]);
    assert_eq!(three.schema().field(0).extension_type_name(), None);
    let parts = three.column(0).as_struct();
    assert_eq!(parts.column_by_name("shape").unwrap().as_list::<i32>().value_offsets(), [0, 0, 2, 3, 3]);

    let mut columns = columns(vec![one.schema().field(0).clone()], OnMismatch::Null);
    let mut row = columns.row(0);
    // The same number of elements in another shape; and a shape that does not match the data.
    row.member("t").unwrap().tensor(&tensor(&[1, 2], &[0, 1, 0, 2])).unwrap();
    row.end();
    assert_eq!(
        columns.row(1).member("t").unwrap().tensor(&tensor(&[2, 1], &[0])).unwrap_err().kind(),
        ErrorKind::Invalid
    );
    assert_eq!(columns.finish().unwrap().column(0).null_count(), 1);
}

#[test]
fn profile_is_independent_of_row_order() {
    let values: [fn(TypeObserver<'_>); 8] = [
        |observer| observer.null(),
        |observer| observer.i64(-3),
        |observer| observer.i64(9),
        |observer| observer.f32(),
        |observer| observer.f16(),
        |observer| observer.bool(),
        |observer| observer.text(9),
        |observer| observer.tensor(Element::U8, &[3]),
    ];
    let observe = |rows: &[u64]| {
        let mut observation = Observation::new(Limits::default());
        for &row in rows {
            let mut object = observation.row(row).object();
            for name in ["a", "b", "c"].iter().cycle().skip((row % 3) as usize).take(2) {
                let mut list = object.member(name).unwrap().list();
                values[(row % 8) as usize](list.element().unwrap());
                list.end();
            }
            object.member(if row % 2 == 0 { "even" } else { "odd" }).unwrap().i64(1);
        }
        observation
    };
    let resolve_all = |observation: &Observation| {
        let mapping = |on_mismatch| Mapping::default().with_on_mismatch(on_mismatch);
        let resolved = [OnMismatch::Null, OnMismatch::Json, OnMismatch::Error]
            .map(|on_mismatch| resolve_schema(observation, &mapping(on_mismatch)));
        resolved.map(|resolved| resolved.map_err(|error| error.to_string()))
    };
    let rows: Vec<u64> = (5..40).collect();
    let expected = resolve_all(&observe(&rows));
    assert!(expected[2].is_err());
    let reversed: Vec<u64> = rows.iter().rev().copied().collect();
    assert_eq!(resolve_all(&observe(&reversed)), expected);
    for parts in [2, 3, 7] {
        let part = |part: usize| observe(&rows.iter().copied().skip(part).step_by(parts).collect::<Vec<_>>());
        let mut all = part(parts - 1);
        (0..parts - 1).for_each(|number| all.merge(part(number)).unwrap());
        assert_eq!(resolve_all(&all), expected);
        assert_eq!(all.profile().count(Class::Object), 35);
    }
}

#[test]
fn compatible_classes_are_widened() {
    let of = |see: &dyn Fn(&mut Observation)| {
        let mut observation = Observation::new(Limits::default());
        see(&mut observation);
        crate::resolve("x", observation.profile(), &Mapping::default()).map(|field| field.data_type().clone())
    };
    assert_eq!(of(&|_| {}).unwrap(), DataType::Null);
    assert_eq!(of(&|x| x.row(0).null()).unwrap(), DataType::Null);
    assert_eq!(of(&|x| x.row(0).u64(u64::MAX)).unwrap(), DataType::UInt64);
    assert_eq!(of(&|x| x.row(0).f16()).unwrap(), DataType::Float16);
    let both = |see: [fn(TypeObserver<'_>); 2]| of(&|x| see.iter().zip(0..).for_each(|(see, row)| see(x.row(row))));
    assert_eq!(both([|x| x.f16(), |x| x.f32()]).unwrap(), DataType::Float32);
    assert_eq!(both([|x| x.f16(), |x| x.i64(1)]).unwrap(), DataType::Float64);
    assert_eq!(both([|x| x.i64(1 << 60), |x| x.f64()]).unwrap(), DataType::Float64);
    assert_eq!(both([|x| x.text(2 << 30), |x| x.text(1)]).unwrap(), DataType::LargeUtf8);
    for (clash, message) in [
        (
            both([|x| x.i64((1 << 60) + 1), |x| x.f64()]),
            "a float, but an integer that Float64 cannot hold exactly in row 0",
        ),
        (both([|x| x.i64(-1), |x| x.u64(u64::MAX)]), "the integer 18446744073709551615"),
        (both([|x| x.number(), |x| x.number()]), "a number beyond 64 bits"),
        (
            both([|x| x.tensor(Element::I8, &[1]), |x| x.tensor(Element::U8, &[1])]),
            "a tensor of U8, but a tensor of I8",
        ),
        (both([|x| x.bool(), |x| x.list().end()]), "a list, but a boolean in row 0"),
        (
            of(&|x| {
                x.row(0).i64(1);
                x.row(1).i64(-1);
                x.row(2).i64(2);
                x.row(3).u64(u64::MAX);
            }),
            "the integer 18446744073709551615, but the integer -1 in row 1; use on_mismatch null or json (row 3",
        ),
    ] {
        let error = clash.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn column_limit_covers_all_levels() {
    let limits = Limits::default().with_columns(3).with_depth(2);
    let mut observation = Observation::new(limits);
    let mut row = observation.row(0).object();
    let mut inner = row.member("a").unwrap().object();
    inner.member("b").unwrap().null();
    inner.member("b").unwrap().null();
    inner.member("c").unwrap().null();
    assert_eq!(row.member("d").unwrap_err().kind(), ErrorKind::Limit { asked: 4, limit: 3 });
    let mut other = Observation::new(limits);
    other.row(1).object().member("e").unwrap().null();
    assert_eq!(observation.merge(other).unwrap_err().kind(), ErrorKind::Limit { asked: 4, limit: 3 });
    let mut row = observation.row(2).object();
    let mut list = row.member("a").unwrap().list();
    assert_eq!(
        list.element().unwrap().list().element().map(drop).unwrap_err().kind(),
        ErrorKind::Limit { asked: 3, limit: 2 }
    );
    let list = |item| DataType::List(Arc::new(Field::new_list_field(item, true)));
    let schema = Schema::new(vec![Field::new("a", list(list(DataType::Int8)), true)]);
    let error = Columns::new(Arc::new(schema), &BatchScan::default(), &limits.with_columns(4)).unwrap_err();
    assert_eq!(error.to_string(), "the nesting of columns 3 exceeds the limit 2 (column \"a[][]\")");
}

#[test]
fn rejects_unsupported_schemas() {
    let new = |field: Field| {
        Columns::new(Arc::new(Schema::new(vec![field.clone(), field])), &BatchScan::default(), &Limits::default())
            .unwrap_err()
            .kind()
    };
    assert_eq!(new(Field::new("x", DataType::Decimal128(5, 2), true)), ErrorKind::Unsupported);
    for unit in [TimeUnit::Microsecond, TimeUnit::Nanosecond] {
        assert_eq!(new(Field::new("x", DataType::Time32(unit), true)), ErrorKind::Unsupported);
    }
    for unit in [TimeUnit::Second, TimeUnit::Millisecond] {
        let list = DataType::List(Arc::new(Field::new_list_field(DataType::Time64(unit), true)));
        assert_eq!(new(Field::new("x", list, true)), ErrorKind::Unsupported);
    }
    assert_eq!(new(Field::new("x", DataType::Int64, true)), ErrorKind::Usage);
    let wide = DataType::FixedSizeList(Arc::new(Field::new_list_field(DataType::Int64, true)), i32::MAX);
    assert!(matches!(new(Field::new("x", wide, true)), ErrorKind::Usage | ErrorKind::Limit { .. }));
    // Nulls in a non-nullable column.
    let mut strict = columns(vec![Field::new("x", DataType::Int64, false)], OnMismatch::Null);
    strict.row(0).end();
    let error = strict.finish().unwrap_err();
    assert_eq!((error.kind(), error.position().column.as_deref()), (ErrorKind::Invalid, Some("x")));
}

#[test]
fn paths_of_deep_columns_are_abbreviated() {
    let mut field = Field::new("x".repeat(500), DataType::Int64, true);
    for _ in 0..100 {
        field = Field::new("é".repeat(100), DataType::Struct(vec![field].into()), true);
    }
    let mut deep = columns(vec![field], OnMismatch::Error);
    fn put(mut object: ObjectSlot<'_>, levels: usize) -> Error {
        let slot = object.at(0).unwrap();
        match levels {
            0 => slot.str("not an integer").unwrap_err(),
            _ => put(slot.object().unwrap().unwrap(), levels - 1),
        }
    }
    let error = put(deep.row(0), 100);
    assert!(error.position().column.as_ref().unwrap().len() < 1000, "{error}");
}

#[test]
fn add_losses_merges_by_column() {
    let loss = |column: &'static str, count, row| {
        let mut first = Position::default();
        (first.row, first.column) = (Some(row), Some(column.into()));
        Loss::new("lost", count, first)
    };
    let mut all = vec![loss("a", 1, 9)];
    add_losses(&mut all, vec![loss("b", 2, 3), loss("a", 4, 5), loss("b", 1, 7)]);
    assert_eq!(all, [loss("a", 5, 5), loss("b", 3, 3)]);
}

#[test]
fn unsupported_values_are_conflicts() {
    let mut observation = Observation::new(Limits::default());
    observation.row(0).object().member("x").unwrap().other();
    observation.row(1).object().member("x").unwrap().other();
    let resolve = |observation: &Observation, on_mismatch| {
        resolve_schema(observation, &Mapping::default().with_on_mismatch(on_mismatch))
    };
    let error = resolve(&observation, OnMismatch::Error).unwrap_err();
    assert!(error.to_string().contains("the column has an unsupported value"), "{error}");
    assert_eq!(*resolve(&observation, OnMismatch::Null).unwrap().field(0).data_type(), DataType::Null);
    observation.row(2).object().member("x").unwrap().bool();
    assert_eq!(resolve(&observation, OnMismatch::Error).unwrap_err().position().row, Some(2));
    assert_eq!(*resolve(&observation, OnMismatch::Null).unwrap().field(0).data_type(), DataType::Boolean);
    assert_eq!(*resolve(&observation, OnMismatch::Msgpack).unwrap().field(0).data_type(), DataType::Binary);
}
