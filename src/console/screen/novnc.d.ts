// The part of noVNC that the console uses; the package has no types of its own.
declare module '@novnc/novnc' {
  export default class RFB extends EventTarget {
    constructor(target: HTMLElement, address: string, options?: { wsProtocols?: string[] })
    scaleViewport: boolean
    focus(): void
    disconnect(): void
    toDataURL(): string
    sendKey(keysym: number, code: string | null, down?: boolean): void
    sendCtrlAltDel(): void
  }
}
