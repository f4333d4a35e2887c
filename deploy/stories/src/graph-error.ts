/** An error as the public endpoint answers it, over HTTP and sockets. */
export interface GraphError {
  message: string;
  path?: (string | number)[];
  extensions: { code: string; statusCode: number; reason?: string; fields?: { path: string; message: string }[] };
}
