"""Trains a Keras model on a pipeline with `model.fit`. Needs Keras 3 with JAX or PyTorch.

Choose the backend with `KERAS_BACKEND=jax` or `KERAS_BACKEND=torch`.
"""

import keras
import numpy as np

import headrace as hr


def circles(count: int, seed: int) -> hr.Pipeline:
    """Returns a point, float32, (2,), and whether it is inside a circle, float32, (1,)."""
    points = np.random.default_rng(seed).uniform(-1, 1, (count, 2)).astype(np.float32)
    return hr.arrays(
        {"x": points, "y": ((points**2).sum(axis=1) < 0.5).astype(np.float32)[:, None]}
    )


if __name__ == "__main__":
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [keras.layers.Dense(32, "tanh"), keras.layers.Dense(1, "sigmoid")],
    )
    model.compile(keras.optimizers.Adam(0.02), "binary_crossentropy", metrics=["accuracy"])
    train = circles(2_000, seed=1).shuffle(seed=1).batch(100)
    model.fit(hr.keras.adapter(train, x="x", y="y"), epochs=30, verbose=0)
    test = circles(500, seed=2).batch(100)
    loss, accuracy = model.evaluate(hr.keras.adapter(test, x="x", y="y"), verbose=0)
    print(f"loss {loss:.3f}, accuracy {accuracy:.2f}")
