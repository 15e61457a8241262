// Sentences of the contract: what stands between backticks there is code.

export function Prose({ text }: { text: string }) {
  return <>{text.split('`').map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</>
}
