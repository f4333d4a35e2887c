import { createHash } from 'node:crypto';

/** Names that Anthropic, Google, Bedrock and OpenAI all accept. */
const commonName = /^[a-z][\w-]{0,63}$/iu;
/** Anthropic's and Bedrock's SDKs answer requests for JSON through a tool of this name. */
const reservedName = 'json';
/** Prefix of substitute names. A tool whose own name starts with this prefix is renamed too, so that two tools never share a name. */
const spelled = 't_';
/** Length of the hash in a substitute name: long enough that two names in practice never have the same hash. */
const hashLength = 16;
/** Mistral accepts only ids of nine letters and digits, which all other formats accept too. */
const foreignIdLength = 9;

/** Returns the name under which a tool is declared: its own name, or a readable substitute with a hash if a format refuses the name. */
export function wireName(name: string): string {
  if (commonName.test(name) && name !== reservedName && !name.startsWith(spelled)) return name;
  return `${spelled}${name.replaceAll(/[^a-z\d_-]/giu, '_').slice(0, 42)}_${hashOf(name).slice(0, hashLength)}`;
}

/** Returns the id under which a model sees a call that another model made. A format may not allow the original id. */
export function foreignCallId(callId: string): string {
  return hashOf(callId).slice(0, foreignIdLength);
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
