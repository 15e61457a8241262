// Doing a task in the console as people do: by pointer with its presses counted, or by keyboard alone.
import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'

/** Presses of a pointer, and keys that are no text, within the limit that a task has. */
export function counted(page: Page) {
  let presses = 0
  return {
    async click(target: Locator): Promise<void> {
      presses++
      await target.click()
    },
    async press(key: string): Promise<void> {
      presses++
      await page.keyboard.press(key)
    },
    within(most: number, task: string): void {
      assert.ok(presses <= most, `${task}: ${presses} presses`)
      presses = 0
    },
  }
}

const MOST_STOPS = 200

/** Presses Tab until it has the focus. */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  for (let stop = 0; stop < MOST_STOPS; stop++) {
    if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return
    await page.keyboard.press('Tab')
  }
  assert.fail(`${MOST_STOPS} tabs do not reach ${String(target)}`)
}
