/** The outcome of a call, whether it succeeded or failed. */
export interface CallResult {
  /** The kind of failure, as documented at `CallResult.error_kind` in the protos; null on success. */
  errorKind: string | null;
  /** A sentence for people, never text of the remote server; empty on success. */
  errorMessage: string;
  /** The HTTP status of an action's answer. */
  status: number | null;
  /** Selected response headers of an action, with lower-case names. */
  headers: Record<string, string>;
  /** The response body: JSON, or plain text. */
  body: { kind: 'json' | 'text'; text: string } | null;
  truncated: boolean;
  durationMs: number;
}

export function failedResult(errorKind: string, errorMessage: string, durationMs = 0): CallResult {
  return { errorKind, errorMessage, status: null, headers: {}, body: null, truncated: false, durationMs };
}

/** Identifies a connector's tool or a custom action. */
export type ToolRef =
  | { kind: 'TOOL'; target: number; toolName: string }
  | { kind: 'ACTION'; target: number; toolName: null };
