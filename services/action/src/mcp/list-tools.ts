import { measureJson } from '@parley/json-schema/json-size';
import { isDomainError } from '@parley/kernel/errors';
import { storageProblem } from '@parley/kernel/input-checks';
import { isJsonObject } from '@parley/kernel/json';
import { unreachable } from './connector-errors.ts';
import type { WorkOn } from './event-messages.ts';

export interface McpTool {
  name: string;
  description?: string;
  /** JSON Schema of an object, as the server wrote it; `$ref`s within it included. */
  inputSchema: Record<string, unknown>;
}

export interface ToolList {
  tools: McpTool[];
  /** The size of all tools as JSON. */
  bytes: number;
  /** The server has more than is kept. */
  isCut: boolean;
}

const max = { pages: 100, tools: 1_000, bytes: 2 ** 20, nameLength: 256 };

/** Deeper ones are no use to those who check by them. */
const schemaDepth = { maxDepth: 64, maxBytes: Number.POSITIVE_INFINITY, maxValues: Number.POSITIVE_INFINITY };

type PageAfter = (cursor?: string) => Promise<{ answer: Record<string, unknown>; bytes: number }>;

interface Reading {
  /** What is kept of a tool. */
  redact: (value: unknown) => unknown;
  workOn: WorkOn;
}

/**
 * Reads the pages of a server's tools, as many as there is room for.
 * @throws DomainError where the answer is no list
 */
export async function listTools(pageAfter: PageAfter, { redact, workOn }: Reading): Promise<ToolList> {
  const list = toolList(redact);
  const cursors = new Set<string>();
  let cursor: string | undefined;
  for (let page = 0; page < max.pages; page += 1) {
    const next = await (page === 0 ? pageAfter() : laterPage(pageAfter, cursor));
    if (!next) return list.end(true);
    const { tools, nextCursor } = next.answer;
    if (!Array.isArray(tools)) throw unreachable(new Error('no list of tools'));
    await workOn(next.bytes, () => {
      for (const tool of tools) list.add(tool);
    });
    // A cursor that repeats would never end.
    if (typeof nextCursor !== 'string' || nextCursor === '' || cursors.has(nextCursor)) return list.end(false);
    cursors.add(nextCursor);
    cursor = nextCursor;
  }
  return list.end(true);
}

/** Undefined where there is no room for it. */
async function laterPage(pageAfter: PageAfter, cursor: string | undefined) {
  try {
    return await pageAfter(cursor);
  } catch (error) {
    if (isDomainError(error) && error.reason === 'REMOTE_TOO_LARGE') return undefined;
    throw error;
  }
}

function toolList(redact: (value: unknown) => unknown) {
  const tools = new Map<string, McpTool>();
  let bytes = 0;
  let isCut = false;
  return {
    /** Skips what is no tool, what does not fit, and a second tool of the same name. */
    add(given: unknown): void {
      const tool = toolOf(given, redact);
      if (!tool || tools.has(tool.name)) return;
      const size = sizeOf(tool);
      if (tools.size === max.tools || bytes + size > max.bytes) {
        isCut = true;
        return;
      }
      bytes += size;
      tools.set(tool.name, tool);
    },
    end: (hasMore: boolean): ToolList => ({ tools: [...tools.values()], bytes, isCut: isCut || hasMore }),
  };
}

function toolOf(given: unknown, redact: (value: unknown) => unknown): McpTool | undefined {
  if (!isJsonObject(given) || measureJson(given['inputSchema'], schemaDepth).problem) return undefined;
  const { name: givenName, description } = given;
  if (typeof givenName !== 'string') return undefined;
  const name = redact(givenName);
  const inputSchema = redact(given['inputSchema']);
  if (typeof name !== 'string' || name === '' || name.length > max.nameLength) return undefined;
  if (storageProblem(name)) return undefined;
  return {
    name,
    ...(typeof description === 'string'
      ? { description: String(redact(description)).toWellFormed().replaceAll('\0', '') }
      : {}),
    // Arguments are an object, whatever type the schema says, if any.
    inputSchema: { ...(isJsonObject(inputSchema) ? inputSchema : {}), type: 'object' },
  };
}

/** Infinite where the tool nests too deeply to be written as JSON. */
function sizeOf(tool: McpTool): number {
  try {
    return Buffer.byteLength(JSON.stringify(tool));
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
