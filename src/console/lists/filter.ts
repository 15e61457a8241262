// The filter of a page, which its address holds: empty ones are left out. Going back undoes the last change of it.
import { useSearchParams } from 'wouter'

export function useFilter(): [Record<string, string>, (name: string, value: string) => void] {
  const [search, setSearch] = useSearchParams()
  const set = (name: string, value: string): void => {
    setSearch((before) => {
      const next = new URLSearchParams(before)
      if (value === '') next.delete(name)
      else next.set(name, value)
      return next
    })
  }
  return [Object.fromEntries(search), set]
}
