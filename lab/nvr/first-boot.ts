/** What a virtual machine of the NVR's template makes of its user data: the files, the port, the password, as its script would. */
import { parse } from 'yaml'
import type { Certificate } from './certificate.ts'
import { at, isObject, type Json, parseJson } from './json.ts'

export interface FirstBoot {
  config_file: string
  certificate: Certificate
  admin_password: string
  /** On which the machine serves the container's port 8971. */
  port: number
}

/** Throws when a part is missing: such a machine stays dark. */
export function readUserData(encoded: string, address: string): FirstBoot {
  const files = filesOf(Buffer.from(encoded, 'base64').toString('utf8'))
  const file = (name: string): string => {
    const found = [...files].find(([path]) => path.endsWith(name))
    if (found === undefined) throw new Error(`the user data has no file ${name}`)
    return found[1]
  }
  // The script writes the address of the machine over a word in the configuration.
  const placeholder = /s\/(\w+)\/\$address\//.exec(file('.sh'))?.[1]
  const config = file('config.yml')
  return {
    config_file: placeholder === undefined ? config : config.replaceAll(placeholder, address),
    certificate: { cert: file('fullchain.pem'), key: file('privkey.pem') },
    admin_password: textOf(parseJson(file('password.json'))?.value, 'password'),
    port: Number(/(\d+):8971/.exec(file('compose.yaml'))?.[1] ?? 8971),
  }
}

function filesOf(text: string): Map<string, string> {
  if (!text.startsWith('#cloud-config')) throw new Error('the user data is no cloud configuration')
  const files = at(parse(text) as Json, 'write_files') // YAML makes nothing else
  const named = Array.isArray(files) ? files.filter(isObject) : []
  return new Map(named.map((one) => [textOf(one, 'path'), textOf(one, 'content')]))
}

function textOf(value: Json | undefined, name: string): string {
  const text = at(value, name)
  if (typeof text === 'string') return text
  throw new Error(`the user data has no text ${name}`)
}
