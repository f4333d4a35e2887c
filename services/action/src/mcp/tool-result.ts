import { isJsonObject } from '@parley/kernel/json';

export type ToolContent =
  | { type: 'text'; text: string; isCut?: true }
  /** `data` in base64 only where it was asked for. */
  | { type: 'image' | 'audio'; mimeType: string; bytes: number; data?: string }
  /** Embedded in the result; a textual one with its text. */
  | { type: 'resource'; uri: string; mimeType?: string; bytes: number; text?: string; isCut?: true; data?: string }
  | { type: 'link'; uri: string; name?: string; description?: string; mimeType?: string; bytes?: number }
  | { type: 'unknown'; kind: string };

/** Why a tool did not run, or failed outside its own result. */
export type ToolRefusal = 'TOOL_NOT_FOUND' | 'TOOL_ARGUMENTS_REFUSED' | 'TOOL_FAILED';

/** What a tool answered. All text in it is data of a foreign server. */
export interface ToolResult {
  isError: boolean;
  refusal?: ToolRefusal;
  content: ToolContent[];
  /** JSON of the tool, beside or instead of its content. */
  structured?: unknown;
  /** Some of it was too large, and left out. */
  isCut: boolean;
  /** The size of the texts and JSON that are kept. */
  bytes: number;
}

export interface ToolResultOptions {
  /** The size of texts and JSON together, and of media where they are asked for. */
  maxBytes: number;
  /** Whether images, sound and binary resources come with their data. */
  withMedia?: boolean | undefined;
}

const maxItems = 1_000;
/** The length of a name, type or address. */
const maxLabel = 2_048;

/** A result in one form, whatever a server sends; what is wrong in it is left out. */
export function toolResult(given: Record<string, unknown>, options: ToolResultOptions): ToolResult {
  const { content, structuredContent, toolResult: oldResult, isError } = given;
  const budget = budgetOf(options);
  // Answers of the protocol's first revision have that instead.
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

/** The answer of a server that refuses a call, or failed at it, with its own words as content. */
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
  let left = maxBytes;
  let isCut = false;

  /** Whether that much may still be kept. */
  function take(bytes: number): boolean {
    const fits = bytes <= left;
    if (fits) left -= bytes;
    else isCut = true;
    return fits;
  }

  return {
    get isCut() {
      return isCut;
    },
    get taken() {
      return maxBytes - left;
    },
    /** Keeps all of it, or as much as still fits. */
    text(text: string): { text: string; isCut?: true } {
      const whole = text.toWellFormed();
      if (take(Buffer.byteLength(whole))) return { text: whole };
      const begin = beginOf(whole, left);
      left = 0;
      return { text: begin, isCut: true };
    },
    /** Keeps all of it, or nothing. */
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

/** The text's first bytes in UTF-8, without a part of a character at the end. */
function beginOf(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text.slice(0, maxBytes)).subarray(0, maxBytes);
  return new TextDecoder().decode(bytes, { stream: true });
}

/** Infinite where the value nests too deeply to be written as JSON. */
function jsonSize(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
