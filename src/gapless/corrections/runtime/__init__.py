"""What runs a trained correction: NumPy and safetensors, no simulator, no torch."""
