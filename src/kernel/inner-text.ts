// What an upstream's sentence must lose before somebody reads it: secrets, and addresses, paths and machines of the inside.

const SECRET =
  /\b(\w*(?:pass(?:word)?|secret|token|signature|api_?key|user_?data)\w*)(\s*[=:]\s*|\s+value\s*=?\s*)(\S+)/gi
const SECRET_VALUE = /invalid value (\S+) for parameter (\w*(?:pass|secret|token|signature|key|userdata)\w*)/gi
const URL_TEXT = /\b[a-z][a-z0-9+.-]*:\/\/\S+/gi
const IPV4_TEXT = /\b\d{1,3}(?:\.\d{1,3}){3}(?:\/\d{1,2}|:\d{1,5})?\b/g
const IPV6_TEXT =
  /(?<![\w:])(?:(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|(?:(?:[0-9a-f]{1,4}:)+|:):(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4})*)?)(?![\w:])/gi
/** Words with dots between: host names, and other names that the sentence does not need. */
const HOST_TEXT = /(?<![\w.-])(?=[\w.-]*[a-z])[\w-]+(?:\.[\w-]+)+(?![\w-])/gi
/** Bare names of machines: `kvm-07`, `db-1`. */
const MACHINE_TEXT = /(?<![\w.-])[a-z]\w*(?:-\w+)*-\d+(?![\w-])/gi
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-/i

/** `named`: what the request itself holds; addresses and names of it stay. */
export function withoutInner(text: string, named: string, longest: number): string {
  const known = named.toLowerCase()
  const unlessNamed = (found: string) => (known.includes(found.toLowerCase()) || UUID.test(found) ? found : '[address]')
  return text
    .replace(SECRET, '$1$2[hidden]')
    .replace(SECRET_VALUE, 'invalid value [hidden] for parameter $2')
    .replace(URL_TEXT, unlessNamed)
    .replace(IPV4_TEXT, unlessNamed)
    .replace(IPV6_TEXT, unlessNamed)
    .replace(HOST_TEXT, unlessNamed)
    .replace(MACHINE_TEXT, unlessNamed)
    .slice(0, longest)
}
