import { measureJson } from '@parley/json-schema/json-size';
import { isDomainError } from '@parley/kernel/errors';
import { storageProblem } from '@parley/kernel/input-checks';
import { isJsonObject } from '@parley/kernel/json';
import { unreachable } from './connector-errors.ts';
import type { WorkOn } from './event-messages.ts';

export interface McpTool {
  name: string;
  description?: string;
  /** JSON Schema of the arguments, as the server sent it; it may contain local `$ref`s. */
  inputSchema: Record<string, unknown>;
}

export interface ToolList {
  tools: McpTool[];
  /** Size of all tools as JSON. */
  bytes: number;
  /** Whether the server has more tools than are kept. */
  isCut: boolean;
}

const max = { pages: 100, tools: 1_000, bytes: 2 ** 20, nameLength: 256 };

/** Maximum nesting of a schema. Validators refuse deeper schemas, so a tool with such a schema could not be called. */
const schemaDepth = { maxDepth: 64, maxBytes: Number.POSITIVE_INFINITY, maxValues: Number.POSITIVE_INFINITY };

type PageAfter = (cursor?: string) => Promise<{ answer: Record<string, unknown>; bytes: number }>;

interface Reading {
  /** Returns a copy of a part of a tool's definition, without secrets. */
  redact: (value: unknown) => unknown;
  workOn: WorkOn;
}

/**
 * Reads a server's pages of tools until a limit is reached.
 * @throws DomainError if a response is not a list
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
    // With a repeated cursor, this loop would never end.
    if (typeof nextCursor !== 'string' || nextCursor === '' || cursors.has(nextCursor)) return list.end(false);
    cursors.add(nextCursor);
    cursor = nextCursor;
  }
  return list.end(true);
}

/** Reads a further page. Returns undefined if the page exceeds the remaining bytes. */
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
    /** Adds a tool. Skips invalid tools, duplicates, and tools that exceed a limit. */
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
    // Arguments are always an object, even if the schema names another type or none.
    inputSchema: { ...(isJsonObject(inputSchema) ? inputSchema : {}), type: 'object' },
  };
}

/** Returns the size of a tool as JSON; infinite if the nesting is too deep to serialize. */
function sizeOf(tool: McpTool): number {
  try {
    return Buffer.byteLength(JSON.stringify(tool));
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
