// The watchdog's text: a few lines of /bin/sh that restore the old state of devices and the old files, with absolute paths and no help from the agent.
import { access, constants } from 'node:fs/promises'

export interface RevertTools {
  sh: string
  ip: string
  mv: string
  cp: string
  rm: string
  sleep: string
  sync: string
}

export interface RevertScript {
  run_folder: string
  tools: RevertTools
  /** Arguments of `ip`, in the order of restoring. */
  undo: readonly { device: string; args: readonly string[] }[]
  files: readonly { path: string; temporary: string; copy: string | null }[]
}

const FOLDERS = ['/usr/sbin', '/usr/bin', '/sbin', '/bin']

/** Absolute paths of the tools, configured ones first; the first missing one is the answer instead. */
export async function findRevertTools(
  sh: string,
  configured: Readonly<Record<string, string>>,
): Promise<RevertTools | { missing: string }> {
  const found: Record<string, string> = {}
  for (const name of ['ip', 'mv', 'cp', 'rm', 'sleep', 'sync']) {
    const path = await firstExecutable(candidates(configured[name], name))
    if (path === null) return { missing: name }
    found[name] = path
  }
  if ((await firstExecutable([sh])) === null) return { missing: sh }
  const { ip = '', mv = '', cp = '', rm = '', sleep = '', sync = '' } = found
  return { sh, ip, mv, cp, rm, sleep, sync }
}

/**
 * `revert.sh wait` is the watchdog, `revert.sh now` restores at once. Both work inside the run folder as their current
 * directory, so a folder that was moved away (the run is over) is never mistaken for the folder of another run.
 * Whoever renames `pending` first decides; restoring is idempotent, so a half-done one is simply done again.
 */
export function revertScript({ run_folder, tools, undo, files }: RevertScript): string {
  const { ip, mv, cp, rm, sleep, sync } = tools
  const live = undo.map(({ device, args }) => `  undo ${[device, ...args].map(quote).join(' ')}`)
  const put = files.map(({ path, temporary, copy }) =>
    copy === null
      ? `  drop ${quote(path)} ${quote(temporary)}`
      : `  put ${quote(copy)} ${quote(path)} ${quote(temporary)}`,
  )
  return `#!/bin/sh
exec </dev/null >/dev/null 2>&1
cd ${quote(run_folder)} || exit 2
note() { read -r up rest </proc/uptime; echo "$up watchdog[$$] $*" >>log; }
undo() {
  [ -e reverting ] || exit 0
  device="$1"; shift
  ${ip} "$@" && return
  if ${ip} link show dev "$device"; then failed=1; note "failed: ip $*"; else note "$device is gone"; fi
}
put() {
  [ -e reverting ] || exit 0
  ${cp} -p "$1" "$3" && ${sync} "$3" && ${mv} -f "$3" "$2" && return
  failed=1; note "cannot write $2"
}
drop() {
  [ -e reverting ] || exit 0
  ${rm} -f "$1" "$2" || { failed=1; note "cannot remove $1"; }
}
restore() {
  ${mv} pending reverting && note "claimed: $1"
  [ -e reverting ] || return 0
  failed=0
${[...live, ...put].join('\n') || '  :'}
  [ $failed -eq 0 ] || return 1
  ${mv} reverting reverted && note "restored"
  [ -e reverted ]
}
if [ "$1" = now ]; then restore "asked to"; exit; fi
echo $$ >watchdog.pid.new && ${mv} watchdog.pid.new watchdog.pid
note "armed"
while [ -e pending ] || [ -e reverting ]; do
  read -r deadline <deadline
  read -r up rest </proc/uptime
  now="\${up%.*}\${up#*.}"
  left=$((\${deadline:-0} - \${now#0}))
  if [ $left -le 0 ]; then
    restore "the window is over" && break
    ${sleep} 1
  elif [ $left -ge 100 ]; then ${sleep} 1
  else ${sleep} "$(printf '0.%02d' $left)" || ${sleep} 1
  fi
done
`
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

function candidates(configured: string | undefined, name: string): string[] {
  return configured === undefined ? FOLDERS.map((folder) => `${folder}/${name}`) : [configured]
}

async function firstExecutable(paths: readonly string[]): Promise<string | null> {
  for (const path of paths) {
    const usable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (usable) return path
  }
  return null
}
