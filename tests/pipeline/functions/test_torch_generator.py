"""`torch_generator`: PyTorch's random functions draw from the generator of an example."""

import logging
import threading

import numpy as np
import pytest

import headrace as hr

TIMEOUT = 30


def test_torch_generator_requires_a_numpy_generator():
    with pytest.raises(TypeError, match=r"torch_generator: got int, expected a numpy\.random\.Gen"):
        hr.torch_generator(7)


def test_torch_generator_reports_missing_pytorch(monkeypatch):
    monkeypatch.setattr("headrace.core.optional_dependencies.find_spec", lambda name: None)
    with pytest.raises(
        ModuleNotFoundError, match=r"torch_generator: torch is not installed\. Follow"
    ):
        hr.torch_generator(np.random.default_rng(1))


class TestTorch:
    @pytest.fixture(autouse=True)
    def torch(self):
        self.torch = pytest.importorskip("torch")
        self.torch.manual_seed(3)

    def drawn(self, draw, seed=5):
        with hr.torch_generator(np.random.default_rng(seed)):
            return draw()

    def check_own(self, draw):
        """Draws come from the example's generator, and the program's generator does not change."""
        before = self.torch.get_rng_state()
        first, again, other = (self.drawn(draw, seed) for seed in (5, 5, 6))
        assert self.torch.equal(first, again)
        assert self.torch.equal(before, self.torch.get_rng_state())
        return not self.torch.equal(first, other)

    @pytest.mark.parametrize(
        "draw",
        [
            lambda torch, ones: torch.rand(9),
            lambda torch, ones: torch.randn(9),
            lambda torch, ones: torch.randint(50, (9,)),
            lambda torch, ones: torch.randint(0, 50, size=(9,)),
            lambda torch, ones: torch.randperm(9),
            lambda torch, ones: torch.rand_like(ones),
            lambda torch, ones: torch.randn_like(ones),
            lambda torch, ones: torch.randint_like(ones, 50),
            lambda torch, ones: torch.randint_like(ones, low=2, high=50),
            lambda torch, ones: torch.randint_like(ones, 2, 50, dtype=torch.int64),
            lambda torch, ones: torch.multinomial(ones, 5),
            lambda torch, ones: ones.multinomial(5),
            lambda torch, ones: torch.bernoulli(ones / 2),
            lambda torch, ones: (ones / 2).bernoulli(),
            lambda torch, ones: torch.poisson(50 * ones),
            lambda torch, ones: torch.binomial(50 * ones, ones / 2),
            lambda torch, ones: torch.normal(ones, ones),
            lambda torch, ones: ones.uniform_(1, 2),
            lambda torch, ones: ones.normal_(),
            lambda torch, ones: ones.bernoulli_(0.5),
            lambda torch, ones: ones.random_(50),
            lambda torch, ones: ones.exponential_(),
            lambda torch, ones: ones.cauchy_(),
            lambda torch, ones: ones.geometric_(0.1),
            lambda torch, ones: ones.log_normal_(),
            lambda torch, ones: torch.distributions.Beta(ones, ones).sample(),
            lambda torch, ones: torch.distributions.Gamma(ones, ones).sample(),
            lambda torch, ones: torch.distributions.Categorical(ones).sample((9,)),
            lambda torch, ones: torch.nn.init.trunc_normal_(ones),
        ],
    )
    def test_each_torch_function_draws_from_the_generator(self, draw):
        assert self.check_own(lambda: draw(self.torch, self.torch.ones(9)))

    def test_torch_draws_advance_the_generator_by_one_draw(self):
        rng, same = (np.random.default_rng(5) for _ in range(2))
        with hr.torch_generator(rng):
            self.torch.rand(100)
        same.integers(2)
        assert rng.random() == same.random()

    def test_explicit_generator_is_used(self):
        own = self.torch.Generator()
        expected = self.torch.rand(4, generator=own.manual_seed(1))
        drawn = self.drawn(lambda: self.torch.rand(4, generator=own.manual_seed(1)))
        assert self.torch.equal(drawn, expected)
        own_again = self.drawn(
            lambda: self.torch.rand_like(self.torch.ones(4), generator=own.manual_seed(1))
        )
        assert self.torch.equal(own_again, expected)

    def test_dtypes_and_shapes_are_as_requested(self):
        torch, ones = self.torch, self.torch.ones(2, 3)
        full = self.drawn(lambda: torch.randint_like(ones, 2, 5, dtype=torch.int64))
        assert (full.dtype, full.shape) == (torch.int64, (2, 3))
        assert set(full.ravel().tolist()) <= {2, 3, 4}
        double = self.drawn(lambda: torch.randn_like(ones, dtype=torch.float64))
        assert (double.dtype, double.shape) == (torch.float64, (2, 3))

    def test_other_threads_draw_from_the_global_torch_generator(self):
        torch = self.torch
        expected = torch.rand(3, generator=torch.Generator().manual_seed(3))
        results = []
        thread = threading.Thread(target=lambda: results.append(torch.rand(3)))
        with hr.torch_generator(np.random.default_rng(5)):
            torch.rand(3)
            thread.start()
            thread.join(TIMEOUT)
        assert torch.equal(results[0], expected)

    def test_torchvision_transforms_draw_from_the_generator(self):
        pytest.importorskip("torchvision")
        from torchvision.transforms import v2  # noqa: PLC0415 (it may be missing)

        image = self.torch.randint(20, 200, (3, 24, 24), dtype=self.torch.uint8)
        transforms = [
            *(v2.RandomResizedCrop(16, antialias=True), v2.RandomCrop(16), v2.RandomRotation(40)),
            *(v2.RandomHorizontalFlip(), v2.RandomVerticalFlip(), v2.RandomZoomOut()),
            *(v2.RandomAffine(30, (0.2, 0.2)), v2.RandomPerspective(), v2.ElasticTransform()),
            *(
                v2.RandomShortestSize([9, 12, 16, 20]),
                v2.ScaleJitter((16, 16)),
                v2.RandomResize(8, 20),
            ),
            *(v2.ColorJitter(0.4, 0.4, 0.4, 0.2), v2.RandomPhotometricDistort()),
            *(v2.RandomChannelPermutation(), v2.RandomGrayscale(0.5), v2.RandomPosterize(2)),
            *(v2.RandomErasing(), v2.RandomInvert(), v2.RandomSolarize(128), v2.RandomEqualize()),
            *(v2.RandomAutocontrast(), v2.RandomAdjustSharpness(2), v2.GaussianBlur(5)),
            *(v2.AutoAugment(), v2.RandAugment(), v2.TrivialAugmentWide(), v2.AugMix()),
            v2.RandomApply([v2.RandomInvert(1.0)]),
            v2.RandomChoice([v2.RandomInvert(1.0), v2.Identity()]),
            v2.RandomOrder([v2.RandomRotation(40), v2.RandomCrop(16)]),
        ]
        unchanged = [
            type(output).__name__
            for output in transforms
            if not self.check_own(
                lambda output=output: self.torch.stack([*self.several(output, image)])
            )
        ]
        assert unchanged == []

    def several(self, transform, image):
        """Yields the results of a transform for an image, always in one size."""
        for _ in range(8):
            output = transform(image).float()
            position = self.torch.zeros(3, 96, 96)
            position[:, : output.shape[1], : output.shape[2]] = output
            yield position

    @pytest.mark.parametrize("callers", [{}, {"num_threads": 4}, {"num_processes": 2}])
    def test_torch_draws_do_not_depend_on_threads_or_processes(self, callers):
        torch = self.torch

        def drawn(example, rng):
            with hr.torch_generator(rng):
                return {"n": example["n"], "x": torch.rand(3).numpy()}

        pipe = hr.arrays({"n": np.arange(200)}).shuffle(seed=2).map(drawn, seed=7, **callers)
        results = {}
        for example in pipe.epochs(2):
            self.torch.rand(1)
            results.setdefault(int(example["n"]), []).append(example["x"])
        draws = {tuple(each) for both in results.values() for each in np.array(both).tolist()}
        assert len(draws) == 400
        # The loop's draws are as if there were no function.
        state = self.torch.get_rng_state()
        self.torch.manual_seed(3)
        for _ in range(400):
            self.torch.rand(1)
        assert torch.equal(state, self.torch.get_rng_state())
        for example in hr.arrays({"n": np.arange(200)}).map(drawn, seed=7):
            assert np.array_equal(results[int(example["n"])][0], example["x"])

    def test_functions_with_torch_generator_cause_no_warning(self, caplog):
        caplog.set_level(logging.WARNING, "headrace.pipeline")

        def drawn(example, rng):
            with hr.torch_generator(rng):
                return {"x": self.torch.rand(3).numpy()}

        assert len(list(hr.arrays({"n": np.arange(20)}).map(drawn, seed=7))) == 20
        assert caplog.records == []
