/**
 * A gRPC service for tests with the methods that a test uses. Every other method fails with an error that names it, so that adding an RPC
 * to the service changes no stub.
 * @param definition the generated definition of the service, e.g. `AgentServiceDefinition`.
 */
export function stubRpc<Implementation extends object>(
  definition: { fullName: string; methods: Readonly<Record<keyof NoInfer<Implementation>, { name: string }>> },
  used: Partial<NoInfer<Implementation>>,
): Implementation {
  const { fullName, methods } = definition;
  const unused = Object.entries<{ name: string }>(methods).map(([method, { name }]) => [
    method,
    () => {
      throw new Error(`no test answers ${fullName}/${name}`);
    },
  ]);
  return { ...Object.fromEntries(unused), ...used } as Implementation;
}
