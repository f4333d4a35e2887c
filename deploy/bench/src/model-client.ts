import { post } from './post.ts';

/** How long this process waits for the model server's first chunk when it asks by itself: what any client would wait. */
export async function modelFirstChunkMs(modelUrl: string, text: string): Promise<number> {
  const before = performance.now();
  const response = await post(`${modelUrl}/chat/completions`, {
    model: 'bench',
    stream: true,
    messages: [{ role: 'user', content: text }],
  });
  let firstMs = Number.NaN;
  let head = '';
  for await (const piece of response.setEncoding('utf8')) {
    if (!Number.isNaN(firstMs)) continue; // the rest is read, so that the connection can be used again
    head += piece as string;
    if (/"content":"[^"]/u.test(head)) firstMs = performance.now() - before;
  }
  return firstMs;
}
