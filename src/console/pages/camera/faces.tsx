// Faces: whom the NVR recognises, by how many images, and what waits for a name.
import { useCall } from '../../api/queries.ts'
import { columnOf } from '../../lists/columns.tsx'
import { Table } from '../../lists/table.tsx'
import { OperationButtons } from '../operation-buttons.tsx'
import { Loaded } from '../panel.tsx'

const COLUMNS = [columnOf('name', 'person'), columnOf('images')]
/** Images that belong to nobody yet. */
const UNNAMED = 'train'

export function Faces() {
  const query = useCall('faceList', {})
  return (
    <>
      <OperationButtons operations={[{ operation: 'faceCreate', label: 'New person' }]} />
      <Loaded query={query}>
        {({ [UNNAMED]: waiting = [], ...people }) => (
          <>
            <Table
              label="People"
              rows={Object.entries(people).map(([name, files]) => ({ name, images: files.length }))}
              columns={COLUMNS}
              empty="The NVR knows nobody yet."
            />
            <h2>Without a name</h2>
            <Table
              label="Images without a name"
              rows={waiting.map((file) => ({ file }))}
              columns={[columnOf('file', 'image')]}
              actions={({ file }) => (
                <OperationButtons
                  operations={[
                    { operation: 'faceClassify', label: 'Say who it is', given: { training_file: String(file) } },
                  ]}
                />
              )}
            />
          </>
        )}
      </Loaded>
    </>
  )
}
