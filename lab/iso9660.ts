/** As much of ISO 9660 as the lab needs: one file read out of an image, and a small image with one folder of one file. */
const SECTOR = 2048

interface Entry {
  name: string
  start: number
  bytes: number
}

/** `node/answers.json` out of an image; undefined when it is not there, or the image is none. */
export function readIsoFile(image: Buffer, path: string): Buffer | undefined {
  if (image.subarray(16 * SECTOR + 1, 16 * SECTOR + 6).toString('latin1') !== 'CD001') return undefined
  let at = entryAt(image, 16 * SECTOR + 156)
  for (const part of path.split('/')) {
    const found: Entry | undefined = entriesOf(image, at).find(({ name }) => isCalled(name, part))
    if (found === undefined) return undefined
    at = found
  }
  return image.subarray(at.start, at.start + at.bytes)
}

/** Names of plain ISO 9660 are upper case, cut short where the level says so, and end in a version. */
function isCalled(name: string, wanted: string): boolean {
  const plain = name.split(';')[0]?.toLowerCase().replace(/\.$/, '') ?? ''
  return plain === wanted || (plain.length >= 8 && wanted.startsWith(plain))
}

function entryAt(image: Buffer, offset: number): Entry {
  const length = image.readUInt8(offset + 32)
  return {
    name: image.subarray(offset + 33, offset + 33 + length).toString('latin1'),
    start: image.readUInt32LE(offset + 2) * SECTOR,
    bytes: image.readUInt32LE(offset + 10),
  }
}

function entriesOf(image: Buffer, { start, bytes }: Entry): Entry[] {
  const entries: Entry[] = []
  for (let at = start; at < start + bytes; ) {
    const length = image.readUInt8(at)
    // Records do not cross sectors: the rest of one is empty.
    if (length === 0) {
      at = (Math.floor(at / SECTOR) + 1) * SECTOR
      continue
    }
    entries.push(entryAt(image, at))
    at += length
  }
  return entries
}

/** An image with /FOLDER/FILE and nothing that boots. */
export function makeIso(folder: string, file: string, content: Buffer): Buffer {
  const [root, sub, data] = [18, 19, 20]
  const image = Buffer.alloc((data + Math.max(1, Math.ceil(content.length / SECTOR))) * SECTOR)
  const descriptor = image.subarray(16 * SECTOR, 17 * SECTOR)
  descriptor.writeUInt8(1, 0)
  descriptor.write('CD001', 1, 'latin1')
  descriptor.writeUInt8(1, 6)
  writeRecord(descriptor, 156, { name: '\0', sector: root, bytes: SECTOR, is_folder: true })
  image.write('\xffCD001\x01', 17 * SECTOR, 'latin1')
  writeFolder(image, root, root, { name: folder.toUpperCase(), sector: sub, bytes: SECTOR, is_folder: true })
  const name = `${file.toUpperCase()};1`
  writeFolder(image, sub, root, { name, sector: data, bytes: content.length, is_folder: false })
  content.copy(image, data * SECTOR)
  return image
}

interface NewRecord {
  name: string
  sector: number
  bytes: number
  is_folder: boolean
}

function writeFolder(image: Buffer, sector: number, parent: number, entry: NewRecord): void {
  let at = sector * SECTOR
  at += writeRecord(image, at, { name: '\0', sector, bytes: SECTOR, is_folder: true })
  at += writeRecord(image, at, { name: '\x01', sector: parent, bytes: SECTOR, is_folder: true })
  writeRecord(image, at, entry)
}

function writeRecord(image: Buffer, at: number, { name, sector, bytes, is_folder }: NewRecord): number {
  const length = 33 + name.length + (name.length % 2 === 0 ? 1 : 0)
  image.writeUInt8(length, at)
  image.writeUInt32LE(sector, at + 2)
  image.writeUInt32BE(sector, at + 6)
  image.writeUInt32LE(bytes, at + 10)
  image.writeUInt32BE(bytes, at + 14)
  image.writeUInt8(is_folder ? 2 : 0, at + 25)
  image.writeUInt8(name.length, at + 32)
  image.write(name, at + 33, 'latin1')
  return length
}
