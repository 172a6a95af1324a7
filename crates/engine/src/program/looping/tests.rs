use super::*;
use crate::kernels::{self, attrs::Attrs};
use crate::program::{Execution, ProgramBuilder, Stop};
use crate::sync::cancellation::Cancellation;
use crate::tensor::shape::Shape;

fn kernel(op_type: &str) -> Arc<dyn Kernel> {
    kernels::build(op_type, &Attrs::default()).unwrap().unwrap()
}

/// Computes `x < limit` from the feeds `x` and `limit`.
fn is_less() -> Arc<Program> {
    let mut builder = ProgramBuilder::new();
    let (x, limit) = (builder.feed(), builder.feed());
    let (_, less) = builder.node("less".into(), kernel("Less"), &[x, limit], &[], &[], 1).unwrap();
    Arc::new(builder.build(vec![less]).unwrap())
}

/// Computes `x + x` from the feed `x`. It has another, unused feed.
fn doubled() -> Arc<Program> {
    let mut builder = ProgramBuilder::new();
    let (x, _) = (builder.feed(), builder.feed());
    let (_, sum) = builder.node("sum".into(), kernel("Add"), &[x, x], &[], &[], 1).unwrap();
    Arc::new(builder.build(vec![sum]).unwrap())
}

fn doubling(body: Arc<Program>) -> Arc<Loop> {
    Arc::new(Loop {
        name: "loop".into(),
        rounds: Rounds::While(is_less()),
        body,
        num_carried: 1,
        num_sequences: 0,
        collected: Vec::new(),
        max_threads: 1,
    })
}

/// Creates a program that runs a loop over two feeds.
fn around(of: Arc<Loop>) -> Arc<Program> {
    let mut builder = ProgramBuilder::new();
    let inputs = [builder.feed(), builder.feed()];
    let (_, last) = builder.node("loop".into(), Arc::new(of), &inputs, &[], &[], 1).unwrap();
    Arc::new(builder.build(vec![last]).unwrap())
}

#[test]
fn body_runs_while_the_condition_is_true() {
    let cancellation = Cancellation::new();
    let program = around(doubling(doubled()));
    let feeds = vec![Tensor::scalar(3_i32), Tensor::scalar(100_i32)];
    assert_eq!(program.run(feeds, &Run::new(&cancellation)).unwrap(), [Tensor::scalar(192_i32)]);
}

#[test]
fn endless_loop_can_be_cancelled() {
    let cancellation = Cancellation::new();
    let program = around(doubling(doubled()));
    let canceller = cancellation.clone();
    let thread = std::thread::spawn(move || canceller.cancel());
    // Doubling 0 never reaches the limit.
    let feeds = vec![Tensor::scalar(0_i32), Tensor::scalar(100_i32)];
    let error = program.run(feeds, &Run::new(&cancellation)).unwrap_err();
    assert_eq!(error.code(), Code::Cancelled);
    thread.join().unwrap();
}

#[test]
fn host_function_in_the_body_stops_the_run() {
    let mut builder = ProgramBuilder::new();
    let (x, _) = (builder.feed(), builder.feed());
    let (_, called) = builder.host_function("host".into(), Arc::new(7_i32), &[x], &[], &[], 1).unwrap();
    let program = around(doubling(Arc::new(builder.build(vec![called]).unwrap())));
    assert!(program.has_host_functions());
    let cancellation = Cancellation::new();
    let mut execution = Execution::once(&program, vec![Tensor::scalar(3_i32), Tensor::scalar(5_i32)]).unwrap();
    let parker = Arc::clone(execution.parker());
    let run = Run::new(&cancellation).with_parker(&parker);
    let mut stop = execution.start(&run).unwrap();
    let mut seen = Vec::new();
    let last = loop {
        match stop {
            Stop::Call(call) => {
                let value = call.inputs[0].integer_scalar("x").unwrap();
                seen.push(value);
                stop = execution.resume(&run, Ok([Tensor::scalar(value as i32 + 1)].into_iter().collect())).unwrap();
            }
            Stop::Done(values) => break values,
        }
    };
    assert_eq!((seen, last), (vec![3, 4], vec![Tensor::scalar(5_i32)]));
}

fn over_rows(is_pure: bool, is_reversed: bool, max_threads: usize) -> Arc<Loop> {
    let mut builder = ProgramBuilder::new();
    let row = builder.feed();
    let (_, square) = builder.node("square".into(), kernel("Square"), &[row], &[], &[], 1).unwrap();
    Arc::new(Loop {
        name: "map".into(),
        rounds: Rounds::Rows { is_reversed, begins_with_carried: false, is_pure },
        body: Arc::new(builder.build(vec![square]).unwrap()),
        num_carried: 0,
        num_sequences: 1,
        collected: vec![(DType::Int32, None)],
        max_threads,
    })
}

#[test]
fn rows_are_mapped_in_order_on_any_number_of_threads() {
    let rows: Vec<i32> = (0..100_000).map(|row| row % 1000).collect();
    let squares: Vec<i32> = rows.iter().map(|row| row * row).collect();
    let rows = Tensor::from_values(Shape::new(&[rows.len()]), rows).unwrap();
    let cancellation = Cancellation::new();
    for of in [over_rows(true, false, 4), over_rows(false, false, 4), over_rows(false, true, 1)] {
        let mut builder = ProgramBuilder::new();
        let input = builder.feed();
        let (_, mapped) = builder.node("map".into(), Arc::new(of), &[input], &[], &[], 1).unwrap();
        let program = builder.build(vec![mapped]).unwrap();
        let mapped = program.run(vec![rows.clone()], &Run::new(&cancellation)).unwrap();
        assert_eq!(mapped[0].values::<i32>().unwrap(), squares);
    }
}

#[test]
fn empty_map_with_an_unknown_row_shape_is_rejected() {
    let of = over_rows(true, false, 1);
    let none = Tensor::from_values::<i32>(Shape::new(&[0]), Vec::new()).unwrap();
    let error = of.run(&Run::new(&Cancellation::new()), [none].into_iter().collect()).map(drop).unwrap_err();
    assert_eq!(error.code(), Code::Unimplemented);
}
