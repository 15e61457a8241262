// What every adapter takes and gives: configuration files as text, and their new text with the MTU of each device.
export interface ConfigFile {
  /** Absolute as the node sees it, `/etc/...`. */
  path: string
  text: string
}

export interface DeviceMtu {
  name: string
  mtu: number
}

/** One way in which a node keeps its network configuration. */
export interface PersistAdapter {
  name: string
  /** Folders or files it reads, with the ending of the names that count. */
  sources: readonly { path: string; ending: string }[]
  /** Whether these files define the bridge. */
  owns(files: readonly ConfigFile[], bridge: string): boolean
  /** New text of the files it changes, and the devices that it has no place for. */
  plan(files: readonly ConfigFile[], bridge: string, devices: readonly DeviceMtu[]): AdapterPlan
}

export interface AdapterPlan {
  changes: ConfigFile[]
  uncovered: DeviceMtu[]
}

/** Runs `edit` for each device on the files as left by the one before; null says that no file has a place for it. */
export function editEach(
  files: readonly ConfigFile[],
  devices: readonly DeviceMtu[],
  edit: (files: readonly ConfigFile[], device: DeviceMtu) => ConfigFile[] | null,
): AdapterPlan {
  const texts = new Map(files.map(({ path, text }) => [path, text]))
  const uncovered: DeviceMtu[] = []
  for (const device of devices) {
    const edited = edit(
      [...texts].map(([path, text]) => ({ path, text })),
      device,
    )
    if (edited === null) uncovered.push(device)
    for (const { path, text } of edited ?? []) texts.set(path, text)
  }
  const changes = files.flatMap(({ path, text }) => {
    const now = texts.get(path)
    return now === undefined || now === text ? [] : [{ path, text: now }]
  })
  return { changes, uncovered }
}
