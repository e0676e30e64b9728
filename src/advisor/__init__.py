"""Which EC2 instance should serve this model, what will it cost, and how sure are we?"""

__version__ = "0.1.0"
