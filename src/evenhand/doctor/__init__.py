"""Put a judge to the test before it is trusted, with answers whose truth is known."""
