import { createHash } from 'node:crypto';

/** Names that Anthropic, Google, Bedrock and OpenAI all accept. */
const commonName = /^[a-z][\w-]{0,63}$/iu;
/** Anthropic's and Bedrock's SDKs answer requests for JSON through a tool of this name. */
const reservedName = 'json';
/** Of a name that stands for another one: a tool that has it itself gets another spelling too, so that none takes another's place. */
const spelled = 't_';
/** Long enough that nobody finds a name with the hash of another one. */
const hashLength = 16;
/** Mistral accepts only ids of nine letters and digits; every other format accepts those too. */
const foreignIdLength = 9;

/** The name under which a tool is declared: its own, or a readable one with a hash where some format refuses its own. */
export function wireName(name: string): string {
  if (commonName.test(name) && name !== reservedName && !name.startsWith(spelled)) return name;
  return `${spelled}${name.replaceAll(/[^a-z\d_-]/giu, '_').slice(0, 42)}_${hashOf(name).slice(0, hashLength)}`;
}

/** The id that a model is given for a call which another model made, since formats accept different ids. */
export function foreignCallId(callId: string): string {
  return hashOf(callId).slice(0, foreignIdLength);
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
