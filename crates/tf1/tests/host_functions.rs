//! Runs that stop at functions of the host language.
#![expect(clippy::unwrap_used, reason = "also the helpers of tests may fail")]

use headrace_engine::error::{Code, Error, Result};
use headrace_engine::kernel::Outputs;
use headrace_engine::kernels;
use headrace_engine::kernels::attrs::{Attr, Attrs};
use headrace_engine::program::{Execution, HostCall, Program, ProgramBuilder, Slot, Stop, StopFlag};
use headrace_engine::run::{Run, catch_panic};
use headrace_engine::sync::cancellation::Cancellation;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::PartialShape;
use headrace_tf1::kernels::queues::queue as queue_kernels;
use headrace_tf1::queue::{Order, Queue, QueueSpec};
use std::sync::Arc;

fn queue(capacity: usize) -> Arc<Queue> {
    Queue::new(QueueSpec {
        name: "q".into(),
        order: Order::Fifo,
        capacity: Some(capacity),
        dtypes: vec![DType::Int64],
        shapes: Some(vec![PartialShape::default()]),
    })
    .unwrap()
}

fn on_queue(builder: &mut ProgramBuilder, op_type: &str, queue: &Arc<Queue>, inputs: &[Slot]) -> Slot {
    let mut attrs = Attrs::default();
    attrs.insert("cancel_pending_enqueues", Attr::Bool(false));
    let kernel = queue_kernels::build(op_type, &attrs, queue).unwrap().unwrap();
    let num_outputs = usize::from(op_type.starts_with("QueueDequeue"));
    builder.node(op_type.into(), kernel, inputs, &[], &[], num_outputs).unwrap().1
}

/// A host function, identified by its name.
fn function(builder: &mut ProgramBuilder, name: &'static str, inputs: &[Slot]) -> Slot {
    builder.host_function(name.into(), Arc::new(name), inputs, &[], &[], 1).unwrap().1
}

fn number(value: i64) -> Outputs {
    Outputs::from_iter([Tensor::scalar(value)])
}

fn value(tensor: &Tensor) -> i64 {
    tensor.integer_scalar("tensor").unwrap()
}

/// Calls `work` with a run that the execution can use.
fn with_run<T>(execution: &mut Execution, work: impl FnOnce(&mut Execution, &Run) -> T) -> T {
    let (cancellation, parker) = (Cancellation::new(), Arc::clone(execution.parker()));
    work(execution, &Run::new(&cancellation).with_parker(&parker))
}

fn start(execution: &mut Execution) -> Stop {
    with_run(execution, Execution::start).unwrap()
}

fn resume(execution: &mut Execution, returned: Result<Outputs>) -> Result<Stop> {
    with_run(execution, |execution, run| execution.resume(run, returned))
}

/// The name of the function to call, and its inputs.
fn call(stop: Stop) -> (&'static str, Vec<i64>) {
    let Stop::Call(HostCall { function, inputs }) = stop else { panic!("it has not stopped for a call") };
    (*function.downcast_ref::<&'static str>().unwrap(), inputs.iter().map(value).collect())
}

fn done(stop: Stop) -> Vec<i64> {
    let Stop::Done(values) = stop else { panic!("it has stopped for a call") };
    values.iter().map(value).collect()
}

#[test]
fn run_stops_at_each_function_in_order_and_resumes_with_its_result() {
    let mut builder = ProgramBuilder::new();
    let fed = builder.feed();
    let first = function(&mut builder, "first", &[fed]);
    let kernel = kernels::build("Add", &Attrs::default()).unwrap().unwrap();
    let sum = builder.node("sum".into(), kernel, &[first, fed], &[], &[], 1).unwrap().1;
    let second = function(&mut builder, "second", &[sum, first]);
    let program = Arc::new(builder.build(vec![second, first]).unwrap());
    assert!(program.has_host_functions() && !program.is_brief());
    let mut execution = Execution::once(&program, vec![Tensor::scalar(3_i64)]).unwrap();
    assert_eq!(call(start(&mut execution)), ("first", vec![3]));
    assert_eq!(call(resume(&mut execution, Ok(number(10))).unwrap()), ("second", vec![13, 10]));
    assert_eq!(done(resume(&mut execution, Ok(number(5))).unwrap()), [5, 10]);
    let error = resume(&mut execution, Ok(number(5))).map(drop).unwrap_err();
    assert_eq!((error.code(), error.message()), (Code::Internal, "the run is over"));
}

#[test]
fn program_with_functions_needs_an_execution() {
    let mut builder = ProgramBuilder::new();
    let returned = function(&mut builder, "f", &[]);
    let program = builder.build(vec![returned]).unwrap();
    let error = program.run(vec![], &Run::new(&Cancellation::new())).unwrap_err();
    assert_eq!((error.code(), error.message()), (Code::Internal, "a host function needs an Execution"));
}

#[test]
fn error_of_a_function_names_its_operation_and_ends_the_run() {
    let mut builder = ProgramBuilder::new();
    let q = queue(1);
    let element = on_queue(&mut builder, "QueueDequeueV2", &q, &[]);
    let returned = function(&mut builder, "f", &[]);
    let program = Arc::new(builder.build(vec![element, returned]).unwrap());
    for (returned, code) in
        [(Err(Error::data_loss("the function's")), Code::DataLoss), (Ok(Outputs::new()), Code::Internal)]
    {
        let mut execution = Execution::once(&program, vec![]).unwrap();
        assert_eq!(call(start(&mut execution)).0, "f");
        assert_eq!(q.stats().num_waiting_dequeues, 1);
        let error = resume(&mut execution, returned).map(drop).unwrap_err();
        assert_eq!((error.code(), error.op().map(|op| &**op)), (code, Some("f")));
        assert_eq!(q.stats().num_waiting_dequeues, 0);
    }
}

#[test]
fn operation_waiting_during_a_function_is_served_or_cancelled_with_the_run() {
    let mut builder = ProgramBuilder::new();
    let q = queue(1);
    let element = on_queue(&mut builder, "QueueDequeueV2", &q, &[]);
    let returned = function(&mut builder, "f", &[]);
    let late = function(&mut builder, "late", &[element]);
    let program = Arc::new(builder.build(vec![element, returned, late]).unwrap());
    let mut execution = Execution::once(&program, vec![]).unwrap();
    assert_eq!(call(start(&mut execution)).0, "f");
    let mut other = Execution::once(&program, vec![]).unwrap();
    assert_eq!(call(start(&mut other)).0, "f");
    assert_eq!(q.stats().num_waiting_dequeues, 2);
    drop(other);
    assert_eq!(q.stats().num_waiting_dequeues, 1);
    drop(q.enqueue(number(7), &Arc::default()).unwrap());
    assert_eq!(call(resume(&mut execution, Ok(number(1))).unwrap()), ("late", vec![7]));
    assert_eq!(done(resume(&mut execution, Ok(number(2))).unwrap()), [7, 1, 2]);
}

#[test]
fn loop_calls_its_functions_until_it_is_stopped() {
    let mut builder = ProgramBuilder::new();
    let q = queue(9);
    let returned = function(&mut builder, "f", &[]);
    on_queue(&mut builder, "QueueEnqueueV2", &q, &[returned]);
    let program: Arc<Program> = Arc::new(builder.build(vec![]).unwrap());
    let stop = Arc::new(StopFlag::new());
    let mut execution = Execution::repeated(&program, &stop).unwrap();
    assert_eq!(call(start(&mut execution)).0, "f");
    for index in 0..3 {
        assert_eq!(call(resume(&mut execution, Ok(number(index))).unwrap()).0, "f");
    }
    stop.set();
    assert!(done(resume(&mut execution, Ok(number(3))).unwrap()).is_empty());
    assert_eq!(q.size(), 4);
    let mut stopped = Execution::repeated(&program, &stop).unwrap();
    assert!(done(start(&mut stopped)).is_empty());
}

#[test]
fn function_on_a_branch_that_is_not_taken_is_not_called() {
    let mut builder = ProgramBuilder::new();
    let condition = builder.feed();
    let guards = [(condition, true)];
    let skipped = builder.host_function("f".into(), Arc::new("f"), &[], &[], &guards, 1).unwrap().1;
    let otherwise = builder.constant(Tensor::scalar(2_i64));
    let merged = builder.merge("merge".into(), condition, (otherwise, skipped), &[], &[]).unwrap().1;
    let program = Arc::new(builder.build(vec![merged]).unwrap());
    let execution = |taken: bool| Execution::once(&program, vec![Tensor::bool(taken)]).unwrap();
    assert_eq!(done(start(&mut execution(false))), [2]);
    let mut taken = execution(true);
    assert_eq!(call(start(&mut taken)).0, "f");
    assert_eq!(done(resume(&mut taken, Ok(number(9))).unwrap()), [9]);
}

#[test]
fn panic_becomes_an_error_of_the_run() {
    let error = catch_panic::<()>(|| panic!("number {}", 3)).unwrap_err();
    let words = "the engine panicked: number 3. This is a defect of headrace; please report it.";
    assert_eq!((error.code(), error.message()), (Code::Internal, words));
    assert_eq!(catch_panic(|| Ok(1)).unwrap(), 1);
}
