// The addresses of the console and what each shows.
import { Link, Route, Switch } from 'wouter'
import { Account } from './account.tsx'
import { AddressesPage } from './addresses.tsx'
import { AlertsPage } from './alerts.tsx'
import { AccessPage, CataloguePage, GpusPage, NetworksPage, PlatformPage } from './area-lists.tsx'
import { CameraPage } from './camera/camera.tsx'
import { CamerasPage } from './camera/cameras.tsx'
import { ConsoleHealth } from './console-health.tsx'
import { FabricPage } from './fabric.tsx'
import { HelpPage } from './help.tsx'
import { HostPage, HostsPage } from './hosts.tsx'
import { HaPage } from './ha.tsx'
import { ChainPage, TimelinePage } from './timeline.tsx'
import { JobPage, JobsPage } from './jobs.tsx'
import { ListPage, ListsPage } from './lists.tsx'
import { MachinePage } from './machine.tsx'
import { MachinesPage } from './machines.tsx'
import { MtuPage } from './mtu.tsx'
import { NodePage } from './node/node-page.tsx'
import { NodesPage } from './nodes.tsx'
import { OperationPage, OperationsPage } from './operations.tsx'
import { Overview } from './overview.tsx'
import { ProvisionPage } from './provision.tsx'
import { StoragePage } from './storage.tsx'
import { TenantPage, TenantsPage } from './tenants.tsx'

export function Pages() {
  return (
    <Switch>
      <Route path="/" component={Overview} />
      <Route path="/timeline" component={TimelinePage} />
      <Route path="/timeline/:id">{({ id }) => <ChainPage id={id} />}</Route>
      <Route path="/jobs" component={JobsPage} />
      <Route path="/jobs/:id">{({ id }) => <JobPage id={id} />}</Route>
      <Route path="/vms" component={MachinesPage} />
      <Route path="/vms/new" component={ProvisionPage} />
      <Route path="/vms/:id/:tab?">{({ id, tab }) => <MachinePage id={id} tab={tab} />}</Route>
      <Route path="/nodes" component={NodesPage} />
      <Route path="/nodes/:bmc/:part?">
        {({ bmc, part }) => <NodePage bmc={decodeURIComponent(bmc)} part={part} />}
      </Route>
      <Route path="/addresses/:part?">{({ part }) => <AddressesPage part={part} />}</Route>
      <Route path="/networks/:part?">{({ part }) => <NetworksPage part={part} />}</Route>
      <Route path="/catalog/:part?">{({ part }) => <CataloguePage part={part} />}</Route>
      <Route path="/gpus/:part?">{({ part }) => <GpusPage part={part} />}</Route>
      <Route path="/storage/:part?">{({ part }) => <StoragePage part={part} />}</Route>
      <Route path="/access/:part?">{({ part }) => <AccessPage part={part} />}</Route>
      <Route path="/platform/:part?">{({ part }) => <PlatformPage part={part} />}</Route>
      <Route path="/hosts" component={HostsPage} />
      <Route path="/hosts/:id">{({ id }) => <HostPage key={id} id={id} />}</Route>
      <Route path="/tenants" component={TenantsPage} />
      <Route path="/tenants/:id">{({ id }) => <TenantPage key={id} id={id} />}</Route>
      <Route path="/help/:part?">{({ part }) => <HelpPage part={part} />}</Route>
      <Route path="/mtu" component={MtuPage} />
      <Route path="/fabric" component={FabricPage} />
      <Route path="/alerts" component={AlertsPage} />
      <Route path="/ha" component={HaPage} />
      <Route path="/cameras/:part?">{({ part }) => <CamerasPage part={part} />}</Route>
      <Route path="/camera/:id">{({ id }) => <CameraPage id={decodeURIComponent(id)} />}</Route>
      <Route path="/lists" component={ListsPage} />
      <Route path="/lists/:operation">{({ operation }) => <ListPage operation={operation} />}</Route>
      <Route path="/operations" component={OperationsPage} />
      <Route path="/operations/:operation">{({ operation }) => <OperationPage operation={operation} />}</Route>
      <Route path="/me" component={Account} />
      <Route path="/me/health" component={ConsoleHealth} />
      <Route>
        <h1>Not found</h1>
        <p>
          There is no such page. <Link href="/">Go to the overview</Link>
        </p>
      </Route>
    </Switch>
  )
}
