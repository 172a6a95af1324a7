use headrace_engine::{cancellation::Cancellation, dtype::*, kernel::*, kernels::{self, attrs::*}, run::Run, shape::Shape, tensor::Tensor};
use std::{sync::Arc, time::Instant};
fn time(name: &str, n: usize, k: &Arc<dyn Kernel>, inputs: &[Tensor]) {
    let c = Cancellation::new();
    let run = Run::new(&c);
    let mut best = f64::MAX;
    let reps = (20_000_000 / n.max(1)).max(3).min(100000);
    for _ in 0..7 {
        let t = Instant::now();
        for _ in 0..reps { std::hint::black_box(k.run(&run, inputs.iter().cloned().collect()).unwrap()); }
        best = best.min(t.elapsed().as_secs_f64() / reps as f64);
    }
    println!("{name}: {:.1} us, {:.2} ns/elem", best * 1e6, best * 1e9 / n as f64);
}
fn f(dims: &[usize]) -> Tensor { let s = Shape::new(dims); let n = s.num_elements(); Tensor::from_values(s, (0..n).map(|i| i as f32).collect()).unwrap() }
fn u(n: usize) -> Tensor { Tensor::from_values(Shape::new(&[n]), (0..n).map(|i| i as u8).collect()).unwrap() }
fn main() {
    let k = |op: &str| kernels::build(op, &Attrs::default()).unwrap().unwrap();
    let cast = |d| { let mut a = Attrs::default(); a.insert("DstT", Attr::DType(d)); kernels::build("Cast", &a).unwrap().unwrap() };
    let m = 1 << 20;
    let src: Vec<u8> = vec![1; 4 * m];
    let t = Instant::now(); for _ in 0..20 { std::hint::black_box(src.clone()); } println!("memcpy 4MB {:.1} us", t.elapsed().as_secs_f64() * 1e6 / 20.0);
    time("add f32 1M", m, &k("Add"), &[f(&[m]), f(&[m])]);
    time("add f32 64k", 65536, &k("Add"), &[f(&[65536]), f(&[65536])]);
    time("add f32 784", 784, &k("Add"), &[f(&[784]), f(&[784])]);
    time("add f32 scalar", 1, &k("Add"), &[f(&[]), f(&[])]);
    time("identity scalar", 1, &k("Identity"), &[f(&[]), ][..1].as_ref()); time("neg scalar", 1, &k("Neg"), &[f(&[])]); time("[3]-[224,224,3]", 150528, &k("Sub"), &[f(&[3]), f(&[224,224,3])]);time("mul f32 64k*scalar", 65536, &k("Mul"), &[f(&[65536]), f(&[])]);
    time("sub f32 [224,224,3]-[3]", 150528, &k("Sub"), &[f(&[224, 224, 3]), f(&[3])]);
    time("max f32 64k", 65536, &k("Maximum"), &[f(&[65536]), f(&[])]);
    time("floordiv f32 64k", 65536, &k("FloorDiv"), &[f(&[65536]), f(&[])]);
    time("cast u8->f32 1M", m, &cast(DType::Float32), &[u(m)]);
    time("cast u8->f32 64k", 65536, &cast(DType::Float32), &[u(65536)]);
    time("cast u8->f32 784", 784, &cast(DType::Float32), &[u(784)]);
    time("cast f32->i32 64k", 65536, &cast(DType::Int32), &[f(&[65536])]);
    time("cast f32->u8 64k", 65536, &cast(DType::UInt8), &[f(&[65536])]);
    time("cast f32->f16 64k", 65536, &cast(DType::Float16), &[f(&[65536])]);
}
