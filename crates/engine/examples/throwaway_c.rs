use headrace_engine::{cancellation::Cancellation, dtype::*, kernel::*, kernels::{self, attrs::*}, run::Run, shape::{Shape, PartialShape}, tensor::Tensor};
use std::time::Instant;
use bytes::Bytes;
fn varint(mut v: usize) -> Vec<u8> { let mut b = vec![]; while v >= 0x80 { b.push(v as u8 | 0x80); v >>= 7; } b.push(v as u8); b }
fn field(n: u8, body: &[u8]) -> Vec<u8> { [&[n << 3 | 2][..], &varint(body.len()), body].concat() }
fn example(fs: &[(&str, Vec<u8>)]) -> Bytes { field(1, &fs.iter().flat_map(|(k, f)| field(1, &[field(1, k.as_bytes()), field(2, f)].concat())).collect::<Vec<_>>()).into() }
fn main() {
    let i = |v: usize| field(3, &field(1, &varint(v)));
    let bytes = |v: &[u8]| field(1, &field(1, v));
    let records: Vec<Bytes> = (0..1000).map(|n| example(&[("image", bytes(&vec![n as u8; 784])), ("label", i(n % 10)), ("id", i(n))])).collect();
    let floats: Vec<Bytes> = (0..1000).map(|n| example(&[("image", field(2, &field(1, &vec![0; 784*4]))), ("label", i(n % 10)), ("id", i(n))])).collect();
    for (name, records, dims, dt) in [("bytes", &records, vec![], DType::String), ("784 floats", &floats, vec![Some(784)], DType::Float32)] {
    let mut a = Attrs::default();
    let keys = ["image", "label", "id"];
    a.insert("sparse_keys", Attr::List(vec![])); a.insert("sparse_types", Attr::List(vec![]));
    a.insert("dense_keys", Attr::List(keys.iter().map(|k| Attr::String(k.to_string())).collect()));
    a.insert("dense_types", Attr::List(vec![Attr::DType(dt), Attr::DType(DType::Int64), Attr::DType(DType::Int64)]));
    a.insert("dense_shapes", Attr::List(vec![Attr::Shape(Some(PartialShape::new(dims))), Attr::Shape(Some(PartialShape::new(vec![]))), Attr::Shape(Some(PartialShape::new(vec![])))]));
    let defaults = [dt, DType::Int64, DType::Int64].map(|d| Tensor::empty(d, Shape::new(&[0])).unwrap());
    let c = Cancellation::new(); let run = Run::new(&c);
    let k = kernels::build("ParseSingleExample", &a).unwrap().unwrap();
    let tensors: Vec<Tensor> = records.iter().map(|r| Tensor::string(r.clone())).collect();
    let mut best = f64::MAX;
    for _ in 0..std::env::var("N").map_or(25, |n| n.parse().unwrap()) {
        let t = Instant::now();
        for _ in 0..100 { for r in &tensors { let mut inputs = Tensors::new(); inputs.push(r.clone()); inputs.extend(defaults.iter().cloned()); std::hint::black_box(k.run(&run, inputs).unwrap()); } }
        best = best.min(t.elapsed().as_secs_f64() / 1e5);
    }
    println!("single {name}: {:.0} ns, {:.2} M records/s", best * 1e9, 1e-6 / best);
    let k = kernels::build("ParseExample", &a).unwrap().unwrap();
    let batch = Tensor::strings(Shape::new(&[128]), records[..128].to_vec()).unwrap();
    let mut best = f64::MAX;
    for _ in 0..std::env::var("N").map_or(25, |n| n.parse().unwrap()) {
        let t = Instant::now();
        for _ in 0..300 { let mut inputs = Tensors::new(); inputs.push(batch.clone()); inputs.push(Tensor::empty(DType::String, Shape::new(&[0])).unwrap()); inputs.extend(defaults.iter().cloned()); std::hint::black_box(k.run(&run, inputs).unwrap()); }
        best = best.min(t.elapsed().as_secs_f64() / 300.0 / 128.0);
    }
    println!("batch {name}: {:.0} ns, {:.2} M records/s", best * 1e9, 1e-6 / best);
    }
}
