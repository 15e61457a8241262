// Light, dark, full contrast, or what the system says. This browser stores the choice, and views by name (lists/saved-views.ts), nothing else.

export const THEMES = ['system', 'light', 'dark', 'contrast'] as const
export type Theme = (typeof THEMES)[number]

const PLACE = 'groundplane.theme'

export function chosenTheme(): Theme {
  const stored = localStorage.getItem(PLACE)
  return THEMES.find((theme) => theme === stored) ?? 'system'
}

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(PLACE, theme)
  applyTheme()
}

export function applyTheme(): void {
  const theme = chosenTheme()
  const wants_contrast = theme === 'system' && matchMedia('(prefers-contrast: more)').matches
  document.documentElement.dataset.theme = wants_contrast ? 'contrast' : theme
}
