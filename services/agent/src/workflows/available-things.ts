import type { TenantRequest } from '@parley/kernel/caller-request';
import { parseJson } from '@parley/kernel/json';
import type { ToolDescription } from '@parley/protos/parley/action/v1/action';
import type { Ports } from '../ports.ts';

/** Maximum characters for each kind of resource. */
const maxLength = 12_000;
const listTimeoutMs = 10_000;

/**
 * Returns the resources that a definition may name, as many as fit, as JSON for a model. @throws DomainError `unavailable` if knowledge or
 * action cannot be reached
 */
export async function availableThings(
  { knowledge, action }: Pick<Ports, 'knowledge' | 'action'>,
  { caller, signal }: TenantRequest,
): Promise<string> {
  const [{ knowledgeBases }, { connectors, tools }] = await Promise.all([
    knowledge.listKnowledgeBases({}, { caller, signal }),
    action.listTools({ ofAll: true, described: true }, { caller, signal, timeoutMs: listTimeoutMs }),
  ]);
  const nameOf = new Map(connectors.map(({ id, name }) => [id, name]));
  return JSON.stringify({
    knowledgeBases: fitting(knowledgeBases.map(({ id, ...base }) => ({ knowledgeBaseId: id, ...base }))),
    tools: fitting(
      tools.flatMap(({ ref, ...tool }) => {
        if (ref?.target?.$case !== 'tool') return [];
        const { connectorId, name } = ref.target.value;
        return [{ connectorId, connector: nameOf.get(connectorId), tool: name, ...described(tool) }];
      }),
    ),
    actions: fitting(
      tools.flatMap(({ ref, ...tool }) =>
        ref?.target?.$case === 'actionId' ? [{ actionId: ref.target.value, name: tool.name, ...described(tool) }] : [],
      ),
    ),
  });
}

function described({ description, inputSchemaJson }: Pick<ToolDescription, 'description' | 'inputSchemaJson'>) {
  return { description, argsSchema: parseJson(inputSchemaJson) };
}

function fitting<T extends object>(things: readonly T[]): T[] {
  let length = 0;
  return things.filter((thing) => {
    length += JSON.stringify(thing).length;
    return length <= maxLength;
  });
}
