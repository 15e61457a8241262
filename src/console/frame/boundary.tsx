// An error of one page leaves the others usable.
import { Component, type ReactNode } from 'react'
import { Problem } from '../form/problem.tsx'
import { noteRenderError } from '../health.ts'

export class Boundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: undefined }
  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error }
  }
  override componentDidCatch(): void {
    noteRenderError()
  }
  override render(): ReactNode {
    if (this.state.error === undefined) return this.props.children
    return <Problem error={this.state.error} retry={() => this.setState({ error: undefined })} />
  }
}
