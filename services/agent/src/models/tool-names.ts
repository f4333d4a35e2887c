import { createHash } from 'node:crypto';

/** Names that Anthropic, Google, Bedrock and OpenAI all accept. */
const commonName = /^[a-z][\w-]{0,63}$/iu;
/** Anthropic's and Bedrock's SDKs answer requests for JSON through a tool of this name. */
const reservedName = 'json';
/**
 * Prefix of a substitute name. A tool whose own name starts with it is renamed too, so that two tools never share a
 * name.
 */
const spelled = 't_';
/** Long enough to make a collision of two names' hashes infeasible. */
const hashLength = 16;
/** Mistral accepts only ids of nine letters and digits, which all other formats accept too. */
const foreignIdLength = 9;

/** The name under which a tool is declared: its own, or a readable one with a hash if some format refuses that. */
export function wireName(name: string): string {
  if (commonName.test(name) && name !== reservedName && !name.startsWith(spelled)) return name;
  return `${spelled}${name.replaceAll(/[^a-z\d_-]/giu, '_').slice(0, 42)}_${hashOf(name).slice(0, hashLength)}`;
}

/** The id under which a model sees a call that another model made; formats accept different ids. */
export function foreignCallId(callId: string): string {
  return hashOf(callId).slice(0, foreignIdLength);
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
