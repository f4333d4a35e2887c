import { isJsonObject } from '@parley/kernel/json';
import {
  type EventAdapter,
  errorFields,
  type Fields,
  figuresIn,
  objectsIn,
  stringIn,
  textsAt,
} from './event-fields.ts';

/** Adapts the chunks of Google's `streamGenerateContent`, keeping the parts that form an answer. */
export function googleEvents(): EventAdapter {
  return (event) => {
    const { error, promptFeedback } = event;
    if (isJsonObject(error) || stringIn(error)) return { error: googleError(error) };
    const usageMetadata = figuresIn(event['usageMetadata']);
    const candidates = objectsIn(event['candidates']).slice(0, 1).map(candidateOf);
    const isKnown = candidates.length > 0 || usageMetadata || isJsonObject(promptFeedback);
    if (!isKnown) return undefined;
    return {
      ...textsAt(event, 'responseId', 'modelVersion'),
      ...(candidates.length > 0 && { candidates }),
      ...(usageMetadata && { usageMetadata }),
      ...(isJsonObject(promptFeedback) && { promptFeedback: textsAt(promptFeedback, 'blockReason') }),
    };
  };
}

function candidateOf({ content, ...candidate }: Fields): Fields {
  const parts = isJsonObject(content) ? objectsIn(content['parts']).flatMap(partOf) : [];
  return { content: { role: 'model', parts }, ...textsAt(candidate, 'finishReason', 'continuationToken') };
}

function partOf(part: Fields): Fields[] {
  const { functionCall, text, thought } = part;
  const signature = textsAt(part, 'thoughtSignature');
  if (isJsonObject(functionCall)) return [{ functionCall, ...signature }];
  if (typeof text !== 'string' && signature['thoughtSignature'] === undefined) return [];
  return [{ ...(typeof text === 'string' && { text }), ...(thought === true && { thought }), ...signature }];
}

function googleError(error: unknown): Fields {
  const { message } = errorFields(error);
  const given = isJsonObject(error) ? error : {};
  const code = typeof given['code'] === 'number' ? given['code'] : null;
  return { message, code, status: stringIn(given['status']) ?? '', details: objectsIn(given['details']) };
}
