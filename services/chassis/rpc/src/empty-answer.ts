/** Returns the response of a method without response fields, when the method's work is done. */
export async function emptyAnswer(work: Promise<void>): Promise<Record<string, never>> {
  await work;
  return {};
}
