#!/bin/sh
# Health check of the failover daemon: succeeds while the management API of this machine is ready to serve.
# Usage: check-api.sh URL
exec /usr/bin/curl --silent --fail --max-time 2 --output /dev/null "$1"
