#!/bin/sh
# Takes the virtual addresses off this machine: before the failover daemon starts and after it ended, however it ended. A
# daemon that was killed cannot do it itself, and both nodes would answer for the addresses.
# Usage: remove-vips.sh INTERFACE ADDRESS...
PATH=/usr/sbin:/usr/bin:/sbin:/bin
interface=$1
shift
failed=0
for address; do
  ip -o address show dev "$interface" | grep -qwF "$address" || continue
  ip address del "$address" dev "$interface" || failed=1
done
exit $failed
