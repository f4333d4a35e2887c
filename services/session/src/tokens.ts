/** What a message costs beside its text: its role and its borders. */
const tokensPerMessage = 4;

/** The contract's estimate where no provider gave a figure: characters / 4. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

/** What a message takes of a model's context. */
export function contextTokens(text: string): number {
  return estimateTokens(text) + tokensPerMessage;
}
