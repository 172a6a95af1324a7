//! Programs: the order in which nodes run, and how a waiting run ends.
#![expect(clippy::unwrap_used, reason = "also the helpers of tests may fail")]

use headrace_engine::error::{Code, Error, Result};
use headrace_engine::kernel::rewrite::{InPlace, Rewritable};
use headrace_engine::kernel::{Kernel, Outputs, Step, Tensors};
use headrace_engine::kernels;
use headrace_engine::kernels::attrs::{Attr, Attrs};
use headrace_engine::program::{Program, ProgramBuilder, Slot, StopFlag};
use headrace_engine::run::{Blocking, Interrupt, Run};
use headrace_engine::sync::cancellation::Cancellation;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::PartialShape;
use headrace_tf1::kernels::queues::queue as queue_kernels;
use headrace_tf1::queue::{Order, Queue, QueueSpec};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

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

fn add(builder: &mut ProgramBuilder, op_type: &str, inputs: &[Slot]) -> Slot {
    let kernel = kernels::build(op_type, &Attrs::default()).unwrap().unwrap();
    builder.node(op_type.into(), kernel, inputs, &[], &[], 1).unwrap().1
}

fn on_queue(builder: &mut ProgramBuilder, op_type: &str, queue: &Arc<Queue>, inputs: &[Slot]) -> (usize, Slot) {
    let mut attrs = Attrs::default();
    attrs.insert("cancel_pending_enqueues", Attr::Bool(false));
    let kernel = queue_kernels::build(op_type, &attrs, queue).unwrap().unwrap();
    let num_outputs = usize::from(op_type.starts_with("QueueDequeue"));
    builder.node(op_type.into(), kernel, inputs, &[], &[], num_outputs).unwrap()
}

fn run(program: &Program, feeds: Vec<Tensor>) -> Result<Vec<Tensor>> {
    program.run(feeds, &Run::new(&Cancellation::new()))
}

/// A program that dequeues one element.
fn dequeue(queue: &Arc<Queue>) -> Program {
    let mut builder = ProgramBuilder::new();
    let (_, slot) = on_queue(&mut builder, "QueueDequeueV2", queue, &[]);
    builder.build(vec![slot]).unwrap()
}

fn wait_for_waiting_dequeue(queue: &Queue) {
    while queue.stats().num_waiting_dequeues == 0 {
        thread::yield_now();
    }
}

#[test]
fn feeds_constants_and_results_pass_through_a_program() {
    let mut builder = ProgramBuilder::new();
    let x = builder.feed();
    let one = builder.constant(Tensor::scalar(1_i64));
    let sum = add(&mut builder, "Add", &[x, one]);
    let square = add(&mut builder, "Mul", &[sum, sum]);
    let program = builder.build(vec![square, x, sum]).unwrap();
    for _ in 0..2 {
        let results = run(&program, vec![Tensor::scalar(4_i64)]).unwrap();
        assert_eq!(results, [25_i64, 4, 5].map(Tensor::scalar));
    }
}

#[test]
fn dequeue_waits_for_the_enqueue_of_the_same_run() {
    let queue = queue(1);
    let mut builder = ProgramBuilder::new();
    let (_, taken) = on_queue(&mut builder, "QueueDequeueV2", &queue, &[]);
    let next = {
        let one = builder.constant(Tensor::scalar(1_i64));
        add(&mut builder, "Add", &[taken, one])
    };
    let seven = builder.constant(Tensor::scalar(7_i64));
    on_queue(&mut builder, "QueueEnqueueV2", &queue, &[seven]);
    let program = builder.build(vec![taken, next]).unwrap();
    assert_eq!(run(&program, vec![]).unwrap(), [7_i64, 8].map(Tensor::scalar));
}

#[test]
fn loop_ends_with_the_error_that_ends_its_input() {
    let (source, sink) = (queue(10), queue(10));
    let mut builder = ProgramBuilder::new();
    let (_, taken) = on_queue(&mut builder, "QueueDequeueV2", &source, &[]);
    on_queue(&mut builder, "QueueEnqueueV2", &sink, &[taken]);
    let copy = builder.build(vec![]).unwrap();

    let mut builder = ProgramBuilder::new();
    for number in 0..5_i64 {
        let value = builder.constant(Tensor::scalar(number));
        on_queue(&mut builder, "QueueEnqueueV2", &source, &[value]);
    }
    let fill = builder.build(vec![]).unwrap();
    run(&fill, vec![]).unwrap();
    let mut builder = ProgramBuilder::new();
    on_queue(&mut builder, "QueueCloseV2", &source, &[]);
    run(&builder.build(vec![]).unwrap(), vec![]).unwrap();

    let error = copy.run_loop(&StopFlag::new(), &Run::new(&Cancellation::new())).unwrap_err();
    assert_eq!((error.code(), error.op().map(|op| &**op)), (Code::OutOfRange, Some("QueueDequeueV2")));
    assert_eq!(sink.size(), 5);
}

#[test]
fn stop_flag_ends_a_loop_between_two_runs() {
    struct CountTo(AtomicUsize, Arc<StopFlag>);
    impl Kernel for CountTo {
        fn run(&self, _run: &Run, _inputs: Tensors) -> Result<Step> {
            if self.0.fetch_add(1, Ordering::Relaxed) == 99 {
                self.1.set();
            }
            Ok(Step::none())
        }
    }
    let stop = Arc::new(StopFlag::new());
    let kernel = Arc::new(CountTo(AtomicUsize::new(0), Arc::clone(&stop)));
    let mut builder = ProgramBuilder::new();
    builder.node("count".into(), Arc::clone(&kernel) as Arc<dyn Kernel>, &[], &[], &[], 0).unwrap();
    builder.build(vec![]).unwrap().run_loop(&stop, &Run::new(&Cancellation::new())).unwrap();
    assert_eq!(kernel.0.load(Ordering::Relaxed), 100);
}

#[test]
fn cancelling_wakes_a_waiting_run_with_the_error_of_its_operation() {
    let queue = queue(1);
    let program = dequeue(&queue);
    let cancellation = Cancellation::new();
    thread::scope(|scope| {
        let blocked = scope.spawn(|| program.run(vec![], &Run::new(&cancellation)).unwrap_err());
        wait_for_waiting_dequeue(&queue);
        cancellation.cancel();
        let error = blocked.join().unwrap();
        assert_eq!((error.code(), error.message()), (Code::Cancelled, "Dequeue operation was cancelled"));
    });
    assert_eq!(queue.stats().num_waiting_dequeues, 0);
}

#[test]
fn deadline_ends_a_waiting_run() {
    let queue = queue(1);
    let cancellation = Cancellation::new();
    let context = Run::new(&cancellation).with_deadline(Some(Instant::now() + Duration::from_millis(20)));
    let error = dequeue(&queue).run(vec![], &context).unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded);
}

#[test]
fn interrupt_ends_a_waiting_run_with_its_error() {
    struct CtrlC;
    impl Interrupt for CtrlC {
        fn check(&self) -> Result<()> {
            Err(Error::new(Code::Unknown, "interrupted"))
        }
    }
    let cancellation = Cancellation::new();
    let context = Run::new(&cancellation).with_interrupt(Some(&CtrlC));
    assert_eq!(dequeue(&queue(1)).run(vec![], &context).unwrap_err().message(), "interrupted");
}

#[test]
fn failure_ends_all_other_waits_of_the_run() {
    let queue = queue(1);
    let mut builder = ProgramBuilder::new();
    on_queue(&mut builder, "QueueDequeueV2", &queue, &[]);
    let (one, zero) = (builder.constant(Tensor::scalar(1_i64)), builder.constant(Tensor::scalar(0_i64)));
    add(&mut builder, "FloorDiv", &[one, zero]);
    let error = run(&builder.build(vec![]).unwrap(), vec![]).unwrap_err();
    assert_eq!((error.code(), error.op().map(|op| &**op)), (Code::InvalidArgument, Some("FloorDiv")));
    assert_eq!(queue.stats().num_waiting_dequeues, 0);
}

#[test]
fn control_input_runs_before_its_operation() {
    struct Note(Arc<std::sync::Mutex<Vec<usize>>>, usize);
    impl Kernel for Note {
        fn run(&self, _run: &Run, _inputs: Tensors) -> Result<Step> {
            self.0.lock().unwrap().push(self.1);
            Ok(Step::none())
        }
    }
    let order = Arc::default();
    let mut builder = ProgramBuilder::new();
    let mut note = |number, controls: &[usize]| {
        builder.node("note".into(), Arc::new(Note(Arc::clone(&order), number)), &[], controls, &[], 0).unwrap().0
    };
    let first = note(1, &[]);
    let second = note(2, &[first]);
    note(3, &[second]);
    run(&builder.build(vec![]).unwrap(), vec![]).unwrap();
    assert_eq!(*order.lock().unwrap(), [1, 2, 3]);
}

#[test]
fn kernel_sees_which_outputs_are_read() {
    struct Three(Arc<std::sync::Mutex<[bool; 3]>>);
    impl Kernel for Three {
        fn run(&self, run: &Run, _inputs: Tensors) -> Result<Step> {
            *self.0.lock().unwrap() = [0, 1, 2].map(|output| run.is_read(output));
            Ok(Step::Done(Outputs::from_iter([1_i64, 2, 3].map(Tensor::scalar))))
        }
    }
    let seen = Arc::default();
    let mut builder = ProgramBuilder::new();
    let (_, first) = builder.node("three".into(), Arc::new(Three(Arc::clone(&seen))), &[], &[], &[], 3).unwrap();
    add(&mut builder, "Neg", &[first]);
    assert_eq!(run(&builder.build(vec![first + 2]).unwrap(), vec![]).unwrap(), [Tensor::scalar(3_i64)]);
    assert_eq!(*seen.lock().unwrap(), [true, false, true]);
}

#[test]
fn kernel_can_absorb_constant_inputs() {
    /// Adds its inputs to its constants, and returns the number of its inputs.
    struct Sum(i64);
    impl Kernel for Sum {
        fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
            let sum = inputs.iter().map(|input| input.integer_scalar("input")).sum::<Result<i64>>()?;
            Ok(Step::Done(Outputs::from_iter([self.0 + sum, inputs.len() as i64].map(Tensor::scalar))))
        }

        fn rewritable(self: Arc<Self>) -> Option<Arc<dyn Rewritable>> {
            Some(self)
        }
    }
    impl Rewritable for Sum {
        fn with_constants(&self, inputs: &[Option<&Tensor>]) -> Option<Arc<dyn Kernel>> {
            let constants = inputs.iter().flatten().map(|input| input.integer_scalar("input"));
            Some(Arc::new(Self(constants.sum::<Result<i64>>().ok()?)))
        }
    }
    for (mut builder, num_inputs) in [(ProgramBuilder::new(), 1_i64), (ProgramBuilder::unoptimised(), 3)] {
        let (ten, fed) = (builder.constant(Tensor::scalar(10_i64)), builder.feed());
        let (_, first) = builder.node("sum".into(), Arc::new(Sum(0)), &[ten, fed, ten], &[], &[], 2).unwrap();
        let program = builder.build(vec![first, first + 1]).unwrap();
        let outputs = run(&program, vec![Tensor::scalar(3_i64)]).unwrap();
        assert_eq!(outputs, [Tensor::scalar(23_i64), Tensor::scalar(num_inputs)]);
    }
}

#[test]
fn kernel_must_return_as_many_outputs_as_its_node_has() {
    let mut builder = ProgramBuilder::new();
    let one = builder.constant(Tensor::scalar(1_i64));
    let negative = kernels::build("Neg", &Attrs::default()).unwrap().unwrap();
    let (_, slot) = builder.node("minus".into(), negative, &[one], &[], &[], 2).unwrap();
    let error = run(&builder.build(vec![slot]).unwrap(), vec![]).unwrap_err();
    let op = error.op().map(|op| &**op);
    assert_eq!((error.code(), error.message(), op), (Code::Internal, "got 1 outputs, expected 2", Some("minus")));
}

#[test]
fn value_is_changed_in_place_unless_it_has_another_reader() {
    /// Adds 1 and counts how often it does so in place; fails at 100.
    struct Increment(Arc<AtomicUsize>);
    impl Kernel for Increment {
        fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
            Ok(Step::one(Tensor::scalar(inputs[0].integer_scalar("input")? + 1)))
        }

        fn rewritable(self: Arc<Self>) -> Option<Arc<dyn Rewritable>> {
            Some(self)
        }
    }
    impl Rewritable for Increment {
        fn in_place(self: Arc<Self>) -> Option<Arc<dyn InPlace>> {
            Some(self)
        }
    }
    impl InPlace for Increment {
        fn change(&self, value: &mut Tensor) -> Result<()> {
            self.0.fetch_add(1, Ordering::Relaxed);
            let number = value.integer_scalar("value")?;
            *value = Tensor::scalar(number + 1);
            if number == 100 { Err(Error::invalid_argument("too many")) } else { Ok(()) }
        }
    }
    let programs = [(ProgramBuilder::new as fn() -> _, [2, 1]), (ProgramBuilder::unoptimised, [0, 0])];
    for (builder, expected) in programs {
        for (fetches, expected) in [&[2][..], &[1, 2]].into_iter().zip(expected) {
            let (mut builder, num_changes) = (builder(), Arc::default());
            let mut slots = vec![builder.feed()];
            slots[0] = add(&mut builder, "Neg", &slots);
            for name in ["first", "second"] {
                let kernel = Arc::new(Increment(Arc::clone(&num_changes)));
                slots.push(builder.node(name.into(), kernel, &slots[slots.len() - 1..], &[], &[], 1).unwrap().1);
            }
            let program = builder.build(fetches.iter().map(|fetch| slots[*fetch]).collect()).unwrap();
            let values: Vec<_> = fetches.iter().map(|fetch| Tensor::scalar(*fetch as i64 - 7)).collect();
            assert_eq!(run(&program, vec![Tensor::scalar(7_i64)]).unwrap(), values);
            assert_eq!(num_changes.load(Ordering::Relaxed), expected, "{fetches:?}");
            if expected == 2 {
                let error = run(&program, vec![Tensor::scalar(-99_i64)]).unwrap_err();
                assert_eq!((error.message(), error.op().map(|op| &**op)), ("too many", Some("second")));
            }
        }
    }
}

/// A program that adds 1 to a number if a bool is true, and otherwise squares it: (sum, square,
/// merged).
fn conditional() -> Program {
    let mut builder = ProgramBuilder::new();
    let (predicate, number) = (builder.feed(), builder.feed());
    let one = builder.constant(Tensor::scalar(1_i64));
    let mut on_branch = |op_type: &str, inputs: &[Slot], branch| {
        let kernel = kernels::build(op_type, &Attrs::default()).unwrap().unwrap();
        builder.node(op_type.into(), kernel, inputs, &[], &[(predicate, branch)], 1).unwrap().1
    };
    let sum = on_branch("Add", &[number, one], true);
    let square = on_branch("Square", &[number], false);
    let (_, merged) = builder.merge("Merge".into(), predicate, (square, sum), &[], &[]).unwrap();
    let negated = add(&mut builder, "Neg", &[merged]);
    builder.build(vec![negated]).unwrap()
}

#[test]
fn only_the_taken_branch_runs() {
    let program = conditional();
    for (predicate, expected) in [(true, -8), (false, -49), (true, -8)] {
        let values = run(&program, vec![Tensor::bool(predicate), Tensor::scalar(7_i64)]).unwrap();
        assert_eq!(values[0].integer_scalar("value").unwrap(), expected);
    }
    let error = run(&program, vec![Tensor::scalar(1_i64), Tensor::scalar(7_i64)]).unwrap_err();
    assert_eq!((error.code(), error.op().map(|op| &**op)), (Code::InvalidArgument, Some("Add")));
}

#[test]
fn nodes_that_depend_on_a_branch_not_taken_are_skipped_and_cannot_be_fetched() {
    let queue = queue(3);
    let mut builder = ProgramBuilder::new();
    let predicate = builder.feed();
    let element = builder.constant(Tensor::scalar(1_i64));
    let kernel = kernels::build("Identity", &Attrs::default()).unwrap().unwrap();
    let (node, guarded) = builder.node("a".into(), kernel, &[element], &[], &[(predicate, true)], 1).unwrap();
    on_queue(&mut builder, "QueueEnqueueV2", &queue, &[guarded]);
    let kernel = queue_kernels::build("QueueEnqueueV2", &Attrs::default(), &queue).unwrap().unwrap();
    builder.node("after".into(), kernel, &[element], &[node], &[], 0).unwrap();
    let program = builder.build(vec![guarded]).unwrap();
    let error = run(&program, vec![Tensor::bool(false)]).unwrap_err();
    assert!(error.message().starts_with("Retval[0] does not have value"), "{error:?}");
    assert_eq!(queue.size(), 0);
    run(&program, vec![Tensor::bool(true)]).unwrap();
    assert_eq!(queue.size(), 2);
}

#[test]
fn branch_waits_for_its_predicate_while_other_nodes_run() {
    let (predicates, results) = (queue(3), queue(3));
    let mut builder = ProgramBuilder::new();
    let (_, number) = on_queue(&mut builder, "QueueDequeueV2", &predicates, &[]);
    let attrs = [("DstT", Attr::DType(DType::Bool))];
    let mut cast = Attrs::default();
    attrs.into_iter().for_each(|(name, value)| cast.insert(name, value));
    let kernel = kernels::build("Cast", &cast).unwrap().unwrap();
    let (_, predicate) = builder.node("Cast".into(), kernel, &[number], &[], &[], 1).unwrap();
    let element = builder.constant(Tensor::scalar(5_i64));
    let kernel = queue_kernels::build("QueueEnqueueV2", &Attrs::default(), &results).unwrap().unwrap();
    builder.node("enqueue".into(), kernel, &[element], &[], &[(predicate, true)], 0).unwrap();
    let (_, _) = on_queue(&mut builder, "QueueEnqueueV2", &predicates, &[element]);
    run(&builder.build(vec![]).unwrap(), vec![]).unwrap();
    assert_eq!((predicates.size(), results.size()), (0, 1));
}

/// Enqueues the element that a run waits for as soon as it blocks.
struct Fill<'a> {
    enqueue: &'a Program,
    num_blocks: AtomicUsize,
}

impl Blocking for Fill<'_> {
    fn block(&self, sleep: &mut (dyn FnMut() + Send)) {
        self.num_blocks.fetch_add(1, Ordering::Relaxed);
        run(self.enqueue, vec![]).unwrap();
        sleep();
    }
}

#[test]
fn host_is_called_when_a_run_blocks() {
    let queue = queue(1);
    let mut builder = ProgramBuilder::new();
    let seven = builder.constant(Tensor::scalar(7_i64));
    on_queue(&mut builder, "QueueEnqueueV2", &queue, &[seven]);
    let enqueue = builder.build(vec![]).unwrap();
    let fill = Fill { enqueue: &enqueue, num_blocks: AtomicUsize::new(0) };
    let cancellation = Cancellation::new();
    let program = dequeue(&queue);
    let values = program.run(vec![], &Run::new(&cancellation).with_blocking(&fill)).unwrap();
    assert_eq!((values[0].integer_scalar("element").unwrap(), fill.num_blocks.into_inner()), (7, 1));
}

#[test]
fn program_that_only_moves_an_element_is_brief() {
    let queue = queue(1);
    assert!(dequeue(&queue).is_brief());
    let mut builder = ProgramBuilder::new();
    let (_, taken) = on_queue(&mut builder, "QueueDequeueV2", &queue, &[]);
    let sum = add(&mut builder, "Add", &[taken, taken]);
    assert!(!builder.build(vec![sum]).unwrap().is_brief());
}
