/** Only this many characters at the start of a response are searched, because endpoints give the reason near the start. */
const readLength = 4_000;

/** Patterns of error messages: an input, its tokens or a sequence exceeds a limit. */
const complaints = [
  /maximum context length|context[_ ]length[_ ]exceeded|context ?window ?exceeded|exceed_context_size/u,
  /(?:exceeds?|exceeding|longer than|larger than|greater than|over|above|beyond)\b.{0,80}\b(?:context|tokens?\b|token (?:limit|size)|sequence length|max(?:imum)?[ _](?:input|sequence|length))/u,
  /(?:tokens?|input|inputs|text|prompt|sequence|query|content)\b.{0,80}\b(?:too long|too large|too many|exceeds?|exceeding|is longer than|over the limit)/u,
  /too many (?:input )?tokens|(?:input|prompt|text|sequence|request)s? (?:is |are )?too (?:long|large)/u,
  /must have (?:less|fewer) than \d+ tokens|maximum input length|max(?:imum)? input tokens|expected maxlength/u,
  /maximum (?:allowed )?(?:number of )?(?:input )?(?:tokens?|sequence length|length)/u,
  /reduce (?:the|your) (?:length|prompt|input)/u,
  /size of tensor a \(\d+\) must match/u,
];
const payloadTooLarge = 413;

/**
 * Reports whether an endpoint refuses a request because it is too long for the model. Knows the messages of OpenAI, vLLM, TEI, llama.cpp,
 * Bedrock and others.
 */
export function saysTooLong(status: number, answer: string): boolean {
  if (status === payloadTooLarge) return true;
  if (status < 400) return false;
  const said = answer.slice(0, readLength).toLowerCase();
  return complaints.some((complaint) => complaint.test(said)) && !/rate limit|per minute|per day|quota/u.test(said);
}
