"""Trains with JAX. While the device computes, the next two batches are copied to it. Needs JAX."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import headrace as hr


def circles(count: int) -> hr.Pipeline:
    """Returns a point, float32, (2,), and whether it is inside a circle, int64."""
    points = np.random.default_rng(1).uniform(-1, 1, (count, 2)).astype(np.float32)
    return hr.arrays({"point": points, "inside": (points**2).sum(axis=1) < 0.5})


def scores(parameters: dict[str, Any], points: Any) -> Any:
    """Returns the log odds that points are inside the circle: float32, (batch,)."""
    hidden = jnp.tanh(points @ parameters["hidden"] + parameters["bias"])
    return hidden @ parameters["output"]


@jax.jit
def step(parameters: dict[str, Any], batch: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Returns the parameters after one step of gradient descent, and the loss before it."""

    def loss(parameters: dict[str, Any]) -> Any:
        odds = scores(parameters, batch["point"])
        return jnp.mean(jax.nn.softplus(jnp.where(batch["inside"], -odds, odds)))

    value, gradients = jax.value_and_grad(loss)(parameters)
    return jax.tree.map(lambda p, g: p - 0.5 * g, parameters, gradients), value


if __name__ == "__main__":
    keys = jax.random.split(jax.random.key(1), 3)
    parameters = {
        "hidden": 2 * jax.random.normal(keys[0], (2, 32)),
        "bias": jax.random.normal(keys[1], (32,)),
        "output": 0.1 * jax.random.normal(keys[2], (32,)),
    }
    train = circles(2_000).shuffle(seed=1).epochs(40).batch(100)
    for batch in train.to_jax():
        parameters, value = step(parameters, batch)
    guesses = scores(parameters, batch["point"]) > 0
    print(f"loss {value:.3f}, accuracy {(guesses == batch['inside']).mean():.2f}")
