/** What a call came to. Failures of the remote are results as well. */
export interface CallResult {
  /** Null where it succeeded; see `CallResult.error_kind` of the protos. */
  errorKind: string | null;
  /** A sentence of our own for people; empty where it succeeded. */
  errorMessage: string;
  /** The HTTP status of an action's answer. */
  status: number | null;
  /** Of an action's answer, in lower case. */
  headers: Record<string, string>;
  /** JSON or text, as text. */
  body: { kind: 'json' | 'text'; text: string } | null;
  truncated: boolean;
  durationMs: number;
}

export function failedResult(errorKind: string, errorMessage: string, durationMs = 0): CallResult {
  return { errorKind, errorMessage, status: null, headers: {}, body: null, truncated: false, durationMs };
}

/** A connector's tool or a custom action, as it is named by who calls it. */
export type ToolRef =
  | { kind: 'TOOL'; target: number; toolName: string }
  | { kind: 'ACTION'; target: number; toolName: null };
