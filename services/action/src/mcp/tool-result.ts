import { isJsonObject } from '@parley/kernel/json';

export type ToolContent =
  | { type: 'text'; text: string; isCut?: true }
  /** `data` is base64, and present only if media were requested. */
  | { type: 'image' | 'audio'; mimeType: string; bytes: number; data?: string }
  /** A resource embedded in the result; `text` is present if the resource is textual. */
  | { type: 'resource'; uri: string; mimeType?: string; bytes: number; text?: string; isCut?: true; data?: string }
  | { type: 'link'; uri: string; name?: string; description?: string; mimeType?: string; bytes?: number }
  | { type: 'unknown'; kind: string };

/** Why a tool did not run, or why it failed without a result. */
export type ToolRefusal = 'TOOL_NOT_FOUND' | 'TOOL_ARGUMENTS_REFUSED' | 'TOOL_FAILED';

/** The result of a tool. All its text is untrusted data of a remote server. */
export interface ToolResult {
  isError: boolean;
  refusal?: ToolRefusal;
  content: ToolContent[];
  /** JSON that the tool returned beside or instead of content. */
  structured?: unknown;
  /** Whether parts were omitted because the result was too large. */
  isCut: boolean;
  /** Size of the kept texts and JSON. */
  bytes: number;
}

export interface ToolResultOptions {
  /** Maximum size of texts and JSON together, and of media if requested. */
  maxBytes: number;
  /** Whether images, audio and binary resources include their data. */
  withMedia?: boolean | undefined;
}

const maxItems = 1_000;
/** Maximum length of a name, type or URI. */
const maxLabel = 2_048;

/** Normalizes the result of any server; invalid parts are omitted. */
export function toolResult(given: Record<string, unknown>, options: ToolResultOptions): ToolResult {
  const { content, structuredContent, toolResult: oldResult, isError } = given;
  const budget = budgetOf(options);
  // The first protocol revision has `toolResult` instead of `structuredContent`.
  const json = structuredContent ?? (content === undefined ? oldResult : undefined);
  const structured = json === undefined || json === null ? undefined : budget.json(json);
  const items = contentItems(content);
  const kept = items.slice(0, maxItems).flatMap((item) => contentOf(item, budget) ?? []);
  return {
    isError: isError === true,
    content: kept,
    ...(structured === undefined ? {} : { structured }),
    isCut: budget.isCut || items.length > maxItems,
    bytes: budget.taken,
  };
}

/** Converts a server's refusal or failure to a result, with the server's message as the result's content. */
export function refusedResult(refusal: ToolRefusal, text: string, options: ToolResultOptions): ToolResult {
  const content = text === '' ? [] : [{ type: 'text', text }];
  return { ...toolResult({ content, isError: true }, options), refusal };
}

function contentItems(content: unknown): unknown[] {
  if (Array.isArray(content)) return content;
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return isJsonObject(content) ? [content] : [];
}

function contentOf(item: unknown, budget: Budget): ToolContent | undefined {
  if (!isJsonObject(item)) return undefined;
  const { type, text, data, mimeType, resource } = item;
  if (type === 'text') return { type, ...budget.text(String(text ?? '')) };
  if (type === 'image' || type === 'audio')
    return { type, mimeType: label(mimeType) ?? 'application/octet-stream', ...budget.media(data) };
  if (type === 'resource') return resourceOf(isJsonObject(resource) ? resource : item, budget);
  if (type === 'resource_link') return linkOf(item);
  return { type: 'unknown', kind: label(type) ?? '' };
}

function resourceOf({ uri, mimeType, text, blob }: Record<string, unknown>, budget: Budget): ToolContent {
  const head = { type: 'resource', uri: label(uri) ?? '', ...labels({ mimeType }) } as const;
  return typeof text === 'string'
    ? { ...head, bytes: Buffer.byteLength(text), ...budget.text(text) }
    : { ...head, ...budget.media(blob) };
}

function linkOf({ uri, name, description, mimeType, size }: Record<string, unknown>): ToolContent {
  const bytes = typeof size === 'number' && size >= 0 ? { bytes: size } : {};
  return { type: 'link', uri: label(uri) ?? '', ...labels({ name, description, mimeType }), ...bytes };
}

function label(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, maxLabel).toWellFormed() : undefined;
}

function labels<Name extends string>(values: Record<Name, unknown>): { [Each in Name]?: string } {
  const entries = Object.entries(values).flatMap(([name, value]) => {
    const text = label(value);
    return text === undefined ? [] : [[name, text]];
  });
  return Object.fromEntries(entries);
}

type Budget = ReturnType<typeof budgetOf>;

function budgetOf({ maxBytes, withMedia = false }: ToolResultOptions) {
  let remainingBytes = maxBytes;
  let isCut = false;

  /**
   * Takes `bytes` from the remaining budget.
   * @returns false if fewer bytes remain; nothing is taken then
   */
  function take(bytes: number): boolean {
    const fits = bytes <= remainingBytes;
    if (fits) remainingBytes -= bytes;
    else isCut = true;
    return fits;
  }

  return {
    get isCut() {
      return isCut;
    },
    get taken() {
      return maxBytes - remainingBytes;
    },
    /** Returns the text, truncated to the remaining budget. */
    text(text: string): { text: string; isCut?: true } {
      const whole = text.toWellFormed();
      if (take(Buffer.byteLength(whole))) return { text: whole };
      const begin = beginOf(whole, remainingBytes);
      remainingBytes = 0;
      return { text: begin, isCut: true };
    },
    /** Returns the whole value if it fits the budget, otherwise undefined. */
    json(value: unknown): unknown {
      return take(jsonSize(value)) ? value : undefined;
    },
    media(data: unknown): { bytes: number; data?: string } {
      const base64 = typeof data === 'string' ? data : '';
      const bytes = Buffer.byteLength(base64, 'base64');
      return withMedia && take(base64.length) ? { bytes, data: base64 } : { bytes };
    },
  };
}

/** Returns the longest prefix of whole characters that has at most `maxBytes` in UTF-8. */
function beginOf(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text.slice(0, maxBytes)).subarray(0, maxBytes);
  return new TextDecoder().decode(bytes, { stream: true });
}

/** Returns the size of a value as JSON; infinite if the nesting is too deep to serialize. */
function jsonSize(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
