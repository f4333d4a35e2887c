import { isJsonObject, parseJson } from '@parley/kernel/json';
import { isShallow } from '../custom-actions/answer-body.ts';
import { redactor } from '../custom-actions/redact.ts';
import type { ActionAnswer } from '../custom-actions/send-action.ts';
import type { ToolContent, ToolResult } from '../mcp/tool-result.ts';
import type { MadeResult } from './call-once.ts';
import type { CallResult } from './call-result.ts';
import { resultKind } from './error-kind.ts';

/** Converts a tool's result. @param secrets credentials to redact, since servers may echo them */
export function madeOfTool(result: ToolResult, secrets: readonly string[]): MadeResult {
  const errorKind = result.isError ? resultKind(result.refusal ?? 'TOOL_FAILED') : null;
  const errorMessage = errorKind === null ? '' : (toolMessages[errorKind] ?? 'The tool failed');
  const body = bodyOf(result, redactor(secrets));
  return { errorKind, errorMessage, status: null, headers: {}, body, truncated: result.isCut };
}

const toolMessages: Record<string, string> = {
  TOOL_NOT_FOUND: 'The connector has no tool of this name',
  ARGUMENTS_REFUSED: 'The tool refuses its arguments',
};

type Redactor = ReturnType<typeof redactor>;

/** Returns the tool's JSON or text. Content with items other than text becomes a JSON array of items. */
function bodyOf({ structured, content }: ToolResult, redacted: Redactor): CallResult['body'] {
  if (structured !== undefined) return jsonBody(JSON.stringify(structured), structured, redacted);
  if (content.length === 0) return null;
  if (!content.every(isText)) return jsonBody(JSON.stringify(content), content, redacted);
  const text = content.map((item) => item.text).join('\n');
  const json = parseJson(text);
  if (isJsonObject(json) || Array.isArray(json)) return jsonBody(text, json, redacted);
  return { kind: 'text', text: redacted.text(text) };
}

/** Returns the server's own JSON text, serialized again only if a secret was redacted. */
function jsonBody(text: string, json: unknown, redacted: Redactor): CallResult['body'] {
  if (!isShallow(text)) return { kind: 'text', text: redacted.text(text) };
  return { kind: 'json', text: redacted.jsonText(text, json) };
}

function isText(item: ToolContent): item is Extract<ToolContent, { type: 'text' }> {
  return item.type === 'text';
}

/** Converts an action's answer. Credentials in body and headers are already redacted. */
export function madeOfAction({ status, errorKind, headers, body }: ActionAnswer): MadeResult {
  const failed = errorKind !== undefined;
  return {
    errorKind: failed ? 'HTTP_STATUS' : null,
    errorMessage: failed ? `The endpoint answered with status ${status}` : '',
    status,
    headers,
    body: actionBody(body),
    truncated: false,
  };
}

function actionBody(body: ActionAnswer['body']): CallResult['body'] {
  if (body.kind === 'text') return body.text === '' ? null : body;
  if (body.kind === 'json') return { kind: 'json', text: body.text };
  const { kind: _, ...binary } = body;
  return { kind: 'json', text: JSON.stringify(binary) };
}
