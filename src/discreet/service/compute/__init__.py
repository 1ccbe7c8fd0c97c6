"""Work for the processes behind the service: plans, releases, readings. One thread each."""
