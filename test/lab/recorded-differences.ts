/** Where the simulator answers a recorded request otherwise on purpose. A line that is no longer true fails the test. */

/** Names of recorded requests and the reason for another answer. */
export const OTHER_ANSWERS: Readonly<Record<string, string>> = {
  'restartNetwork-cleanup-over-threshold': 'routers are not placed on hosts here: nothing of the product depends on it',
  'restartNetwork-livepatch': 'the recorded hypervisor cannot patch routers; KVM, which is simulated here, can',
  'addLdapConfiguration-unreachable': 'no directory is asked: a test needs none',
  listUnmanagedInstances: 'the recorded hypervisor knows no import; KVM, which is simulated here, does',
  'listVmsForImport-kvm': 'the recorded site had no KVM host; this one has',
  'resizeVolume-smaller-shrinkok': 'the recorded hypervisor cannot shrink; KVM, which is simulated here, can',
  'revertSnapshot-stopped': 'the recorded hypervisor cannot revert; KVM, which is simulated here, can',
}

/** Fields by command: missing here (-) or not in the recording (+), one reason for each group. */
export const OTHER_FIELDS: readonly { reason: string; fields: Readonly<Record<string, string>> }[] = [
  {
    reason: 'KVM, which is simulated here, has what the recorded hypervisor has not',
    fields: {
      listHosts:
        '+cpusockets +hosttags +explicithosttags +encryptionsupported +instanceconversionsupported -hostha -outofbandmanagement',
      findHostsForMigration:
        '+cpusockets +hosttags +explicithosttags +encryptionsupported +instanceconversionsupported +hasenoughcapacity -hostha -outofbandmanagement',
    },
  },
  {
    reason:
      'the seeded site has what the recorded one had not: a project, DNS servers, offerings with limits, uploaded ISOs',
    fields: {
      listZones: '+dns2 +internaldns2 -asnrange',
      listPhysicalNetworks: '+networkspeed +tags',
      listNetworks: '-details -cidr -gateway -netmask',
      createNetwork: '+broadcasturi +vlan -details',
      listTemplates: '+bootable +accountid -checksum',
      listServiceOfferings: '-rootdisksize +serviceofferingdetails -cpunumber -memory +hosttags -cpuspeed',
      listIsos:
        '+created +accountid +zoneid +zonename +status +size +physicalsize +templatetype +hypervisor +details +deployasis +requireshvm +url +sshkeyenabled +downloaddetails.datastore +downloaddetails.downloadPercent +downloaddetails.downloadState',
      listDiskOfferings: '+diskIopsWriteRate +domainid +domain',
      createDiskOffering: '+miniops +maxiops',
      updateDiskOffering: '+domainid +domain',
      listVirtualMachines: '+projectid +project +publicipid +publicip',
      listVirtualMachinesMetrics: '+projectid +project',
      listNics: '+secondaryip',
      listVolumes: '+projectid +project',
      listSnapshots: '+snapshottype +locationtype -ostypeid',
    },
  },
  {
    reason: 'no part of the product reads them',
    fields: {
      listPublicIpAddresses: '-forprovider',
      'job associateIpAddress': '-forprovider',
      listAccounts: '+iscleanuprequired -secondarystoragetotal',
      listDomains: '-parentdomainid -parentdomainname -secondarystoragetotal',
      listVgpuProfiles: '-maxheads -maxresolutionx -maxresolutiony -maxvgpuperphysicalgpu -videoram',
      listCapabilities: '-sharedfsvmmincpucount -sharedfsvmminramsize',
      listClusters: '-resourcedetails',
      listRouters:
        '-dns1 -gateway -guestmacaddress -guestnetmask -linklocalmacaddress -linklocalnetmask -linklocalnetworkid -networkdomain -podname -publicmacaddress -publicnetmask -publicnetworkid -scriptsversion -serviceofferingid -serviceofferingname -templateid -templatename',
      listSystemVms:
        '-dns1 -gateway -isdynamicallyscalable -linklocalmacaddress -linklocalnetmask -podname -privatemacaddress -privatenetmask -publicmacaddress -publicnetmask -serviceofferingid -serviceofferingname',
      listPortForwardingRules: '-cidrlist',
      listSecurityGroups: '-domain -domainid -domainpath',
      listVPCs:
        '+network.id +network.name +network.displaytext +network.broadcastdomaintype +network.traffictype +network.gateway +network.netmask +network.cidr +network.zoneid +network.zonename +network.networkofferingid +network.networkofferingname +network.networkofferingdisplaytext +network.networkofferingconservemode +network.networkofferingavailability +network.issystem +network.state +network.related +network.broadcasturi +network.dns1 +network.type +network.vlan +network.acltype +network.account +network.domainid +network.domain +network.domainpath +network.service +network.service.name +network.service.provider +network.service.provider.name +network.service.capability +network.networkdomain +network.physicalnetworkid +network.restartrequired +network.specifyvlan +network.specifyipranges +network.vpcid +network.vpcname +network.canusefordeploy +network.ispersistent +network.displaynetwork +network.strechedl2subnet +network.redundantrouter +network.supportsvmautoscaling +network.created +network.receivedbytes +network.sentbytes +network.egressdefaultpolicy +network.publicmtu +network.privatemtu +network.tags +network.hasannotations -created -distributedvpcrouter -fordisplay -hasannotations -networkdomain -publicmtu -redundantvpcrouter -regionlevelvpc -restartrequired -service -tags -vpcofferingid -vpcofferingname',
      'job createPortForwardingRule': '-cidrlist',
      listNetworkOfferings:
        '-fornsx -fortungsten -serviceofferingid -specifyasnumber -supportsinternallb -supportspublicaccess -supportsstrechedl2subnet',
      createDomain: '+hasannotations -secondarystoragetotal',
      listUsers: '-apikeyaccess',
      listProjects:
        '+owner.accountid +owner.userid -backupavailable -backuplimit -backupstorageavailable -backupstoragelimit -backupstoragetotal -backuptotal -bucketavailable -bucketlimit -buckettotal -cpuavailable -cpulimit -cputotal -ipavailable -iplimit -iptotal -memoryavailable -memorylimit -memorytotal -networkavailable -networklimit -networktotal -objectstorageavailable -objectstoragelimit -objectstoragetotal -primarystorageavailable -primarystoragelimit -primarystoragetotal -secondarystorageavailable -secondarystoragelimit -secondarystoragetotal -snapshotavailable -snapshotlimit -snapshottotal -templateavailable -templatelimit -templatetotal -vmavailable -vmlimit -vmrunning -vmstopped -vmtotal -volumeavailable -volumelimit -volumetotal -vpcavailable -vpclimit -vpctotal',
      listVlanIpRanges: '-cidr -networkid',
      dedicatePublicIpRange: '-cidr -networkid',
    },
  },
]
