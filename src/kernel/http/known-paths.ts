// Which methods a path has: a call with another one is answered so.
export interface KnownPaths {
  /** `path` as the contract writes it. */
  add(method: string, path: string): void
  /** Methods that this path takes; none where there is no such path. */
  methodsOf(path: string): string[]
}

export function createKnownPaths(): KnownPaths {
  const methods = new Map<string, string[]>()
  return {
    add(method, path) {
      const more = method === 'GET' ? ['GET', 'HEAD'] : [method]
      methods.set(path, [...(methods.get(path) ?? []), ...more])
    },
    methodsOf(asked) {
      const found = [...methods].filter(([path]) => matches(path, asked)).flatMap(([, names]) => names)
      return [...new Set(found)].toSorted()
    },
  }
}

function matches(path: string, asked: string): boolean {
  const literal = path.replace(/[.*+?^$()|[\]\\]/g, '\\$&')
  const pattern = literal.replace(/\{\w+\\\*\}/, '.+').replace(/\{\w+\}/g, '[^/]+')
  return new RegExp(`^${pattern}$`).test(asked)
}
