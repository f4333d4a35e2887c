import { parseJson } from '@parley/kernel/json';

/**
 * A decoded response body: `json`, `text`, or a description of binary data. JSON keeps the server's own text, because
 * parsing loses digits of long numbers.
 */
export type AnswerBody =
  | { kind: 'json'; json: unknown; text: string }
  | { kind: 'text'; text: string }
  | { kind: 'binary'; contentType: string; bytes: number };

/** Maximum nesting of JSON. Deeper JSON is returned as text, because recursive code could overflow the stack. */
const maxJsonDepth = 100;

const textTypes = /^text\/|[/+](?:json|xml|yaml|javascript|ecmascript|x-www-form-urlencoded|x-ndjson|graphql)$/u;

/** Decodes a body by its content type, or by its content if there is no type. Never throws. */
export function answerBody(body: Uint8Array, contentTypeHeader: string | undefined): AnswerBody {
  const { type, charset } = mediaType(contentTypeHeader);
  const isText = type === '' || type === 'application/octet-stream' ? isUtf8Text(body) : textTypes.test(type);
  if (!isText) return { kind: 'binary', contentType: type || 'application/octet-stream', bytes: body.length };
  const text = decoded(body, charset);
  const mayBeJson = type === '' || /[/+]json$/u.test(type);
  const json = mayBeJson && isShallow(text) ? parseJson(text) : undefined;
  return json === undefined ? { kind: 'text', text } : { kind: 'json', json, text };
}

function mediaType(header = ''): { type: string; charset: string } {
  const [type = '', ...parameters] = header.toLowerCase().split(';');
  const charset = parameters.map((each) => /^\s*charset\s*=\s*"?([^"\s]*)/u.exec(each)?.[1]).find(Boolean);
  return { type: type.split(',')[0]?.trim() ?? '', charset: charset ?? 'utf-8' };
}

function decoded(body: Uint8Array, charset: string): string {
  try {
    return new TextDecoder(charset).decode(body);
  } catch {
    return new TextDecoder().decode(body); // unknown charset
  }
}

function isUtf8Text(body: Uint8Array): boolean {
  try {
    return !new TextDecoder('utf-8', { fatal: true }).decode(body).includes('\0');
  } catch {
    return false;
  }
}

/** Reports whether the nesting is within the limit. Counts brackets outside strings. */
export function isShallow(text: string): boolean {
  let depth = 0;
  let inText = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (inText) {
      if (character === '\\') at += 1;
      else if (character === '"') inText = false;
    } else if (character === '"') inText = true;
    else if (character === '{' || character === '[') {
      depth += 1;
      if (depth > maxJsonDepth) return false;
    } else if (character === '}' || character === ']') depth -= 1;
  }
  return true;
}
