#!/bin/bash
# Called by the failover daemon at every change of state:
#   notify.sh FOLDER ADDRESS KIND NAME STATE PRIORITY
# FOLDER is ha/ in the data folder of the control plane, ADDRESS that of this node on the cluster network; the daemon adds
# the rest. Each event becomes a file of the spool and is sent from there in order, so none is lost while the API is away.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
umask 027

# Before anything else: scripts of two changes run beside each other, and this orders them.
now=${EPOCHREALTIME/[.,]/}

folder=$1 address=$2 kind=$3 name=${4//[^A-Za-z0-9_.-]/} state=$5 priority=${6//[^0-9]/}
spool=$folder/spool

case $state in
MASTER) action=HA_PROMOTED level=INFO status=COMPLETED ;;
BACKUP) action=HA_DEMOTED level=INFO status=COMPLETED ;;
FAULT) action=HA_FAULT level=ERROR status=FAILED ;;
STOP) action=HA_STOPPED level=WARN status=COMPLETED ;;
*) exit 0 ;;
esac
[ "$kind" = INSTANCE ] || exit 0

# Grows even where the clock was set back.
next_counter() {
  local last=0
  [ ! -r "$spool/.counter" ] || read -r last <"$spool/.counter" || true
  [[ $last =~ ^[0-9]{1,16}$ ]] || last=0
  counter=$((now > last ? now : last + 1))
  echo "$counter" >"$spool/.counter"
}

add() {
  next_counter
  local occurred_at
  occurred_at=$(date -u -d "@${now:0:-6}.${now: -6}" +%Y-%m-%dT%H:%M:%S.%3NZ)
  printf '{"action":"%s","level":"%s","status":"%s","message":"%s","resource_uuid":"%s","counter":%s,"occurred_at":"%s"}\n' \
    "$1" "$2" "$3" "$4" "$address" "$counter" "$occurred_at" >"$spool/.new.$counter" &&
    mv "$spool/.new.$counter" "$spool/$counter.json"
}

# What is refused for good would be refused again: it is set aside. What was not answered stays, with all that follows it.
send() {
  local file answer
  for file in $(cd "$spool" && ls -1 -- *.json 2>/dev/null | sort -n); do
    answer=$(curl --silent --config "$folder/callback.curl" --max-time 2 --output /dev/null --write-out '%{http_code}' \
      --header 'Content-Type: application/json' --data-binary "@$spool/$file")
    case $answer in
    200) rm -f "$spool/$file" ;;
    400 | 403) mv -f "$spool/$file" "$spool/$file.rejected" ;;
    *) return 0 ;;
    esac
  done
}

mkdir -p "$spool" || exit 0
{
  flock -w 5 9 || exit 0
  add "$action" "$level" "$status" "$name is $state with priority $priority"
} 9>"$spool/.lock"

# The daemon does not wait for the network.
(
  exec 8>"$spool/.sending" </dev/null >/dev/null 2>&1
  flock -w 30 8 && send
) &
disown
