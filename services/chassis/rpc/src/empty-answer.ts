/** The answer of a method whose response has no fields, once its work is done. */
export async function emptyAnswer(work: Promise<void>): Promise<Record<string, never>> {
  await work;
  return {};
}
