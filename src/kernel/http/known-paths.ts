// Which methods a path has: a call with another one is answered so.
export interface KnownPaths {
  /** `path` as the contract writes it. */
  add(method: string, path: string): void
  /** Methods that this path takes; none where there is no such path. */
  methodsOf(path: string): string[]
}

export function createKnownPaths(): KnownPaths {
  const known = new Map<string, { methods: string[]; pattern?: RegExp }>()
  return {
    add(method, path) {
      const one = known.get(path) ?? { methods: [] }
      one.methods.push(...(method === 'GET' ? ['GET', 'HEAD'] : [method]))
      known.set(path, one)
    },
    methodsOf(asked) {
      const found = [...known].filter(([path, one]) => (one.pattern ??= patternOf(path)).test(asked))
      return [...new Set(found.flatMap(([, { methods }]) => methods))].toSorted()
    },
  }
}

function patternOf(path: string): RegExp {
  const literal = path.replace(/[.*+?^$()|[\]\\]/g, '\\$&')
  const pattern = literal.replace(/\{\w+\\\*\}/, '.+').replace(/\{\w+\}/g, '[^/]+')
  return new RegExp(`^${pattern}$`)
}
